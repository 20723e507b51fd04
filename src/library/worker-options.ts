import { type SettingField, settingOf } from '../config/settings.ts';
import {
  checkQueueSettings,
  checkSchedules,
  checkTaskTypes,
  type QueueInputs,
  type TaskTypeInputs,
} from '../config/task-settings.ts';
import type { Backoff } from '../domain/backoff.ts';
import type { ClaimForm } from '../domain/claim-form.ts';
import type { HandlerMap } from '../domain/handler-map.ts';
import { newScheduleOf, type ScheduleInputs } from '../domain/schedule/definition.ts';
import { badOption } from '../lib/bad-option.ts';
import { checkedUrl } from '../lib/checked-url.ts';
import { TaskqError } from '../lib/errors.ts';
import type { Level } from '../lib/level.ts';
import type { SynchronousCommit } from '../lib/synchronous-commit.ts';
import { configuredSettings } from '../worker/configured-settings.ts';
import type { Isolation } from '../worker/handlers/handler.ts';
import type {
  ConfiguredSettings,
  EndOptions,
  ProcessOptions,
  TaskOptions,
  WorkerOptions,
} from '../worker/worker-options.ts';
import type { WorkerEvent } from './event-listener.ts';
import { known, type Names } from './known-options.ts';

/** Options of `taskq work`, for a worker inside an application. Durations are text or milliseconds. */
export interface CreateWorkerOptions {
  /** URL of the PostgreSQL database. */
  readonly databaseUrl: string;
  /** URL of the same database bypassing a connection pooler, for LISTEN. */
  readonly directUrl?: string;
  /**
   * Durability of commits, overriding the database; default `on`. With less, a crash or failover of the server may lose
   * recent claims and outcomes, and tasks run twice.
   */
  readonly synchronousCommit?: SynchronousCommit;
  /** Handlers by type (functions or definitions), or the directory of their files. */
  readonly handlers: string | HandlerMap;
  /** Tasks to run at a time; default 8. */
  readonly concurrency?: number;
  /** Queues to serve; default: all. */
  readonly queues?: readonly string[];
  /** Types to serve; default: all that have a handler. */
  readonly types?: readonly string[];
  /**
   * Where handlers of a directory run unless they set it themselves; default `inline`, in the application's process.
   */
  readonly isolation?: Isolation;
  /** Tasks per claim; default `auto`, which adapts to how fast they finish. */
  readonly batch?: 'auto' | number;
  /** How to claim beside other workers; default `skip-locked`. `optimistic` avoids SKIP LOCKED, and costs more. */
  readonly claim?: 'skip-locked' | 'optimistic';
  /** How long a claimed task is held without a heartbeat; default 30 s. */
  readonly lease?: string | number;
  /** Time between heartbeats; default and maximum: a third of the lease. */
  readonly heartbeat?: string | number;
  /** How often to look for tasks while idle; default 1 s. */
  readonly poll?: string | number;
  /** How often to look for tasks of dead workers; default 5 s. */
  readonly rescue?: string | number;
  /** How long running tasks may continue after `stop`; default 25 s. */
  readonly grace?: string | number;
  /**
   * How long after its timeout or cancellation a handler in its own process is killed, unless it sets this itself;
   * default 2 s.
   */
  readonly killAfter?: string | number;
  /** Name of the worker in lists and logs; default: the host. */
  readonly name?: string;
  /**
   * Attempts before a task becomes a dead letter, unless its type or queue sets this. When it starts, the worker
   * registers this, the four options below, `taskTypes` and `queueSettings` for all producers, as `taskq work` does.
   */
  readonly maxAttempts?: number | 'unlimited';
  /** Wait after a failed attempt, unless the task's type or queue sets this. */
  readonly backoff?: Backoff;
  /** Time limit of an attempt, unless the task's type or queue sets this. */
  readonly timeout?: string | number;
  /** Do not start a task once it has been due for this long, unless its type or queue sets this. */
  readonly expires?: string | number;
  /** How long a finished task is kept, unless its type or queue sets this. */
  readonly retention?: string;
  /**
   * The same options by type, overriding those of handlers; also the queue and priority of tasks whose producer sets
   * none.
   */
  readonly taskTypes?: TaskTypeInputs;
  /** The same options by queue; also how long errors of attempts and dead letters are kept. */
  readonly queueSettings?: QueueInputs;
  /** Schedules by name: the worker adds those that do not exist, and changes none. */
  readonly schedules?: ScheduleInputs;
  /** Start paused: claim nothing until resumed. */
  readonly paused?: true;
  /** Exit when no task is running, due, snoozed or waiting for a retry. */
  readonly untilIdle?: true;
  /** Exit after n tasks. */
  readonly maxTasks?: number;
  /** Called with each log event. The first error it throws is emitted as a process warning; later ones are ignored. */
  readonly onEvent?: (event: WorkerEvent) => void;
  /** Lowest level of the events for `onEvent`; default `info`. Events of single tasks have level `debug`. */
  readonly logLevel?: Level;
}

/** A worker's options, except its handlers, its log and the signals that stop it. */
export interface WorkerSettings extends Omit<WorkerOptions, 'tasks' | 'end' | 'process'> {
  readonly tasks: Omit<TaskOptions, 'handlers'>;
  readonly end: Omit<EndOptions, 'stop' | 'hurry'>;
  readonly process: Omit<ProcessOptions, 'events'>;
}

/** Checks the options and fills in defaults, as the command line does. Throws TaskqError. */
export function settingsOf(options: CreateWorkerOptions): WorkerSettings {
  const { databaseUrl, directUrl, name, maxTasks, handlers } = known(options, NAMES);
  if (databaseUrl === undefined) throw badOption('databaseUrl is missing');
  if (typeof handlers !== 'string' && (typeof handlers !== 'object' || handlers === null)) {
    throw badOption('handlers are missing: pass a map by type, or the directory of their files');
  }
  const leaseMs = read(options, 'leaseMs', 'lease') as number;
  return {
    connection: {
      databaseUrl: checkedUrl('databaseUrl', databaseUrl),
      directUrl: directUrl === undefined ? null : checkedUrl('directUrl', directUrl),
      synchronousCommit: read(options, 'synchronousCommit', 'synchronousCommit') as SynchronousCommit,
    },
    claims: {
      concurrency: read(options, 'concurrency', 'concurrency') as number,
      queues: read(options, 'queues', 'queues') as readonly string[] | null,
      batch: read(options, 'batch', 'batch') as 'auto' | number,
      claimForm: read(options, 'claim', 'claim') as ClaimForm,
      paused: options.paused === true,
    },
    times: {
      leaseMs,
      heartbeatMs: heartbeatOf(options, leaseMs),
      pollMs: read(options, 'pollMs', 'poll') as number,
      rescueMs: read(options, 'rescueMs', 'rescue') as number,
      graceMs: read(options, 'graceMs', 'grace') as number,
      killAfterMs: read(options, 'killAfterMs', 'killAfter') as number,
    },
    tasks: {
      configured: configuredOf(options),
      schedules: Object.entries(sectionOf('schedules', options.schedules, checkSchedules) ?? {}).map(
        ([scheduleName, schedule]) => newScheduleOf(scheduleName, schedule),
      ),
    },
    end: {
      untilIdle: options.untilIdle === true,
      maxTasks: maxTasks === undefined ? null : maxTasksOf(maxTasks),
    },
    process: { name, kind: 'shared' },
  };
}

/**
 * Returns the options of tasks. Undefined if there are none: the worker then leaves those in the database unchanged.
 */
function configuredOf(options: CreateWorkerOptions): ConfiguredSettings | undefined {
  const { maxAttempts, backoff, timeout, expires, retention } = options;
  const defaults = { maxAttempts, backoff, timeout, expires, retention };
  const types = sectionOf('taskTypes', options.taskTypes, checkTaskTypes);
  const queues = sectionOf('queueSettings', options.queueSettings, checkQueueSettings);
  if ([...Object.values(defaults), types, queues].every((given) => given === undefined)) return undefined;
  return configuredSettings({ defaults, types: types ?? {}, queues: queues ?? {} });
}

function sectionOf<Section extends object>(
  key: keyof CreateWorkerOptions,
  given: Section | undefined,
  check: (section: Section) => void,
): Section | undefined {
  if (given === undefined) return undefined;
  if (typeof given !== 'object' || given === null)
    throw badOption(`${key}: expected an object of options by name`);
  try {
    check(given);
  } catch (error) {
    throw error instanceof TaskqError ? badOption(`${key}: ${error.message}`) : error;
  }
  return given;
}

/** Returns the types to serve; null for all. */
export function typesOf(options: CreateWorkerOptions): readonly string[] | null {
  return read(options, 'types', 'types') as readonly string[] | null;
}

/** Returns the isolation of handlers that set none. */
export function isolationOf(options: CreateWorkerOptions): Isolation {
  return read(options, 'isolation', 'isolation') as Isolation;
}

const NAMES: Names<CreateWorkerOptions> = {
  databaseUrl: true,
  directUrl: true,
  synchronousCommit: true,
  handlers: true,
  concurrency: true,
  queues: true,
  types: true,
  isolation: true,
  batch: true,
  claim: true,
  lease: true,
  heartbeat: true,
  poll: true,
  rescue: true,
  grace: true,
  killAfter: true,
  name: true,
  maxAttempts: true,
  backoff: true,
  timeout: true,
  expires: true,
  retention: true,
  taskTypes: true,
  queueSettings: true,
  schedules: true,
  paused: true,
  untilIdle: true,
  maxTasks: true,
  onEvent: true,
  logLevel: true,
};

/** Returns the lowest level of the events for `onEvent`. */
export function logLevelOf(options: CreateWorkerOptions): Level {
  return read(options, 'logLevel', 'logLevel') as Level;
}

function read(options: CreateWorkerOptions, field: SettingField, key: keyof CreateWorkerOptions): unknown {
  const setting = settingOf(field);
  const given = options[key];
  if (given === undefined) return setting.default;
  const value = setting.parse(given);
  if (value !== undefined) return value;
  throw badOption(`${key} ${JSON.stringify(given)}: expected ${setting.expects}`);
}

function heartbeatOf(options: CreateWorkerOptions, leaseMs: number): number {
  if (options.heartbeat === undefined) return Math.floor(leaseMs / 3);
  const heartbeatMs = read(options, 'heartbeatMs', 'heartbeat') as number;
  if (heartbeatMs <= leaseMs / 3) return heartbeatMs;
  throw badOption(`heartbeat ${JSON.stringify(options.heartbeat)}: expected at most a third of the lease`);
}

function maxTasksOf(maxTasks: number): number {
  if (Number.isSafeInteger(maxTasks) && maxTasks >= 1) return maxTasks;
  throw badOption(`maxTasks ${String(maxTasks)}: expected a number from 1 on`);
}
