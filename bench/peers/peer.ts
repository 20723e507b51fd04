import type { HandlerKind, Run } from '../lib/handlers.ts';
import type { Payload } from '../lib/payload.ts';

/** Every system that is measured. `floor` and `raw` are no queues: they say what the database could do. */
export const SYSTEMS = [
  'taskq',
  'floor',
  'raw',
  'graphile-worker',
  'pg-boss',
  'bullmq-redis',
  'bullmq-postgres',
] as const;
export type SystemName = (typeof SYSTEMS)[number];

/** Where a system keeps its tasks: a database's URL, or the path of Redis' socket. */
export type Place = string;

/** `best`: the settings its makers publish for throughput. `defaults`: none but the concurrency. */
export type Tuning = 'best' | 'defaults';

/** What one worker process is to do. */
export interface WorkOrder {
  readonly system: SystemName;
  readonly place: Place;
  readonly tuning: Tuning;
  readonly handler: HandlerKind;
  /** Keep what is finished, where the system can do either. */
  readonly history: boolean;
  /** The slots, where the tuning does not say. */
  readonly concurrency?: number;
  /** Do without LISTEN, as behind a pooler. */
  readonly polling?: true;
}

export interface Working {
  /** End in order; nothing runs when it resolves. */
  stop(): Promise<void>;
}

/** Adds tasks as an application would, by the system's own library. What resolves is committed. */
export interface Producer {
  add(payload: Payload): Promise<unknown>;
  addMany(payloads: readonly Payload[]): Promise<unknown>;
  close(): Promise<unknown>;
}

/** A system: how it is set up, filled, looked into and worked off. */
export interface Peer {
  readonly store: 'postgres' | 'redis';
  /** Make its schema in an empty database. */
  install(place: Place): Promise<void>;
  /** Adds one task with the payload $1, where that is a statement. */
  readonly addStatement?: string;
  /** Open what an application would add tasks with, over so many connections. */
  openProducer(place: Place, connections: number): Promise<Producer>;
  /** Ask its store how many tasks are not done. */
  countLeft(place: Place): Promise<number>;
  /** In a worker's process: load all that is needed. Returns what starts to work. */
  prepare(order: WorkOrder, run: Run): Promise<() => Promise<Working> | Working>;
}
