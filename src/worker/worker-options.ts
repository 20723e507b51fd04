import type { ClaimForm } from '../domain/claim-form.ts';
import type { NewSchedule } from '../domain/schedule/definition.ts';
import type { SynchronousCommit } from '../lib/synchronous-commit.ts';
import type { QueueSettings } from '../queue/operate/set-queue.ts';
import type { DefaultSettings, TypeSettings } from '../queue/protocol/register-worker.ts';
import type { Handlers } from './handlers/load-handlers.ts';
import type { WatchedHandlers } from './handlers/watched-handlers.ts';
import type { EventLog } from './log/events.ts';

/** Task settings of a worker's configuration; they override those of handlers for the types they name. */
export interface ConfiguredSettings {
  readonly defaults: DefaultSettings;
  readonly types: Readonly<Record<string, TypeSettings>>;
  readonly queues: Readonly<Record<string, QueueSettings>>;
}

export interface WorkerOptions {
  readonly connection: ConnectionOptions;
  readonly tasks: TaskOptions;
  readonly claims: ClaimOptions;
  readonly times: WorkerTimes;
  readonly end: EndOptions;
  readonly process: ProcessOptions;
}

export interface ConnectionOptions {
  readonly databaseUrl: string;
  /** The same database past a pooler, for the session that listens; `databaseUrl` by default. */
  readonly directUrl?: string | null;
  /** How durable a commit must be before it is answered. */
  readonly synchronousCommit: SynchronousCommit;
}

/** What it runs, and the settings and schedules that it registers. */
export interface TaskOptions {
  readonly handlers: Handlers;
  /** Reloads handlers whose files have changed; undefined: handlers are never reloaded. */
  readonly watched?: WatchedHandlers | undefined;
  /** Undefined: there is no configuration. */
  readonly configured?: ConfiguredSettings | undefined;
  /** The schedules of the configuration: the worker adds those that do not exist. */
  readonly schedules?: readonly NewSchedule[];
}

/** What it claims, until an operator orders otherwise. */
export interface ClaimOptions {
  readonly concurrency: number;
  /** Null: every queue. */
  readonly queues: readonly string[] | null;
  /** How many tasks to claim at a time; `auto`: as many as will start within the next milliseconds. */
  readonly batch: 'auto' | number;
  /** How its claims avoid those of other workers. */
  readonly claimForm: ClaimForm;
  readonly paused: boolean;
}

export interface WorkerTimes {
  readonly leaseMs: number;
  readonly heartbeatMs: number;
  readonly pollMs: number;
  readonly rescueMs: number;
  readonly graceMs: number;
  /** How long a handler in a child process may continue after its timeout or cancellation. */
  readonly killAfterMs: number;
}

/** When it ends. */
export interface EndOptions {
  /** Exit when no work is left. */
  readonly untilIdle: boolean;
  /** Exit after n tasks; null: never. */
  readonly maxTasks: number | null;
  /** Claim no more, and end when all running tasks have ended or the grace is over. */
  readonly stop: AbortSignal;
  /** End without waiting further. */
  readonly hurry: AbortSignal;
}

/** The process around it. */
export interface ProcessOptions {
  readonly name?: string | undefined;
  /**
   * Whether the process belongs to the worker alone. In a process shared with an application, uncaught errors are left
   * to the application, and a handler that blocks the event loop does not end the process: the worker stops renewing
   * its leases instead.
   */
  readonly kind: 'own' | 'shared';
  readonly events: EventLog;
  /** Called when the worker claims tasks, and when it has ended. */
  readonly onStarted?: () => void;
  readonly onStopped?: () => void;
}

export interface WorkerEnd {
  /** 0; 1 if the worker retired or left tasks to their leases; 3 if the schema no longer serves its release. */
  readonly exitCode: 0 | 1 | 3;
  readonly completed: number;
  readonly failed: number;
  /** Tasks that `untilIdle` left, counted by reason. */
  readonly left: Readonly<Record<string, number>>;
}
