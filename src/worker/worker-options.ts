import type { SynchronousCommit } from '../lib/synchronous-commit.ts';
import type { QueueSettings } from '../queue/operate/set-queue.ts';
import type { TypeSettings } from '../queue/protocol/register-worker.ts';
import type { Handlers } from './handlers/load-handlers.ts';
import type { WatchedHandlers } from './handlers/watched-handlers.ts';
import type { EventLog } from './log/events.ts';

/** What a worker's configuration says of tasks, stronger than handlers where it names the type. */
export interface ConfiguredSettings {
  readonly defaults: TypeSettings;
  readonly types: Readonly<Record<string, TypeSettings>>;
  readonly queues: Readonly<Record<string, QueueSettings>>;
}

export interface WorkerOptions {
  readonly databaseUrl: string;
  /** The same database past a pooler, for the session that listens; the databaseUrl unless told. */
  readonly directUrl?: string | null;
  /** How sure a commit is before it is answered. */
  readonly synchronousCommit: SynchronousCommit;
  readonly handlers: Handlers;
  /** Undefined: it has no configuration. */
  readonly configured?: ConfiguredSettings | undefined;
  /** Looks for changed handlers, to be used instead; undefined: these stay. */
  readonly watched?: WatchedHandlers | undefined;
  readonly concurrency: number;
  /** Null: every queue. */
  readonly queues: readonly string[] | null;
  /** How many to claim at a time; `auto`: as many as will start within the next milliseconds. */
  readonly batch: 'auto' | number;
  readonly leaseMs: number;
  readonly heartbeatMs: number;
  readonly pollMs: number;
  readonly rescueMs: number;
  readonly graceMs: number;
  /** How long a handler in a process may go on after its timeout or a request to cancel. */
  readonly killAfterMs: number;
  readonly name?: string | undefined;
  readonly paused: boolean;
  /** End when nothing is left to do. */
  readonly untilIdle: boolean;
  /** Exit after n tasks; null: never. */
  readonly maxTasks: number | null;
  /**
   * Whether the process is the worker's own. In one shared with an application, errors that nobody catches are the
   * application's, and a handler that keeps the event loop does not end the process: its leases are let go.
   */
  readonly process: 'own' | 'shared';
  readonly events: EventLog;
  /** Called when it claims, and when it has ended. */
  readonly onStarted?: () => void;
  readonly onStopped?: () => void;
  /** Claim no more, and end when what runs has ended or the grace is over. */
  readonly stop: AbortSignal;
  /** Wait no longer. */
  readonly hurry: AbortSignal;
}

export interface WorkerEnd {
  /** 0; 1 when it retired, or left something to its lease. */
  readonly exitCode: 0 | 1;
  readonly completed: number;
  readonly failed: number;
  /** What `untilIdle` left, by why. */
  readonly left: Readonly<Record<string, number>>;
}
