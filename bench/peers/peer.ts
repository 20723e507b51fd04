import type { HandlerKind, Run } from '../lib/handlers.ts';
import type { Payload } from '../lib/payload.ts';

/** Every measured system. `floor` and `raw` are not queues: they show the limits of the database. */
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
export type StoreAddress = string;

/** `best`: the settings its makers publish for throughput. `defaults`: only the concurrency is set. */
export type Tuning = 'best' | 'defaults';

/** The work of one worker process. */
export interface WorkOrder {
  readonly system: SystemName;
  readonly address: StoreAddress;
  readonly tuning: Tuning;
  readonly handler: HandlerKind;
  /** Keep finished tasks, where the system lets us choose. */
  readonly history: boolean;
  /** The slots, unless the tuning sets them. */
  readonly concurrency?: number;
  /** The tasks of one claim, where the system lets us choose. */
  readonly batch?: number;
  /** How taskq claims; absent: as it does by default. */
  readonly claim?: 'skip-locked' | 'optimistic';
  /** Work without LISTEN, as behind a pooler. */
  readonly polling?: true;
}

export interface Working {
  /** Stop in order; nothing runs once it resolves. */
  stop(): Promise<void>;
}

/** Adds tasks as an application would, with the system's own library. A resolved call is committed. */
export interface Producer {
  add(payload: Payload): Promise<unknown>;
  addMany(payloads: readonly Payload[]): Promise<unknown>;
  close(): Promise<unknown>;
}

/** A system: how to install, fill, inspect and run it. */
export interface Peer {
  readonly store: 'postgres' | 'redis';
  /** Make its schema in an empty database. */
  install(address: StoreAddress): Promise<void>;
  /** The statement that adds one task with the payload $1, if a statement can. */
  readonly addStatement?: string;
  /** Open the producer that an application would use, over this many connections. */
  openProducer(address: StoreAddress, connections: number): Promise<Producer>;
  /** Ask its store how many tasks are not done. */
  countLeft(address: StoreAddress): Promise<number>;
  /** In a worker process: load everything needed. Returns a function that starts the work. */
  prepare(order: WorkOrder, run: Run): Promise<() => Promise<Working> | Working>;
}
