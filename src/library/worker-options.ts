import {
  checkQueueSettings,
  checkTaskTypes,
  type QueueInputs,
  type TaskTypeInputs,
  type ValueChecks,
} from '../config/said-of-tasks.ts';
import { type SettingField, settingOf } from '../config/settings.ts';
import type { Backoff } from '../domain/backoff.ts';
import type { HandlerMap } from '../domain/handler-map.ts';
import { VALUE_CHECKS } from '../domain/value-checks.ts';
import { checkedUrl } from '../lib/checked-url.ts';
import { EXIT, TaskqError } from '../lib/errors.ts';
import type { Level } from '../lib/level.ts';
import { didYouMean } from '../lib/nearest.ts';
import type { SynchronousCommit } from '../lib/synchronous-commit.ts';
import { configuredSettings } from '../worker/configured-settings.ts';
import type { Isolation } from '../worker/handlers/handler.ts';
import type { ConfiguredSettings, WorkerOptions } from '../worker/worker-options.ts';
import type { WorkerEvent } from './event-listener.ts';

/** What `taskq work` takes, for a worker inside an application. Durations as text or in milliseconds. */
export interface CreateWorkerOptions {
  /** URL of the PostgreSQL database. */
  readonly databaseUrl: string;
  /** URL of the same database bypassing a connection pooler, for LISTEN. */
  readonly directUrl?: string;
  /**
   * Durability of commits, overriding the database; `on`. With less, a crash or failover of the server may lose recent
   * claims and outcomes, and tasks run twice.
   */
  readonly synchronousCommit?: SynchronousCommit;
  /** Handlers by type (functions or definitions), or the directory of their files. */
  readonly handlers: string | HandlerMap;
  /** Tasks it runs at a time; 8. */
  readonly concurrency?: number;
  /** Queues to serve; default: all. */
  readonly queues?: readonly string[];
  /** Types to serve; default: all that have a handler. */
  readonly types?: readonly string[];
  /** Where handlers of a directory run unless they set it themselves; `inline`, in the application's process. */
  readonly isolation?: Isolation;
  /** Tasks per claim; `auto` adapts to how fast they finish. */
  readonly batch?: 'auto' | number;
  /** How long a claimed task is held without a heartbeat; 30 s. */
  readonly lease?: string | number;
  /** Time between heartbeats; a third of the lease, and never more. */
  readonly heartbeat?: string | number;
  /** How often it looks for tasks while idle; 1 s. */
  readonly poll?: string | number;
  /** How often it looks for tasks of dead workers; 5 s. */
  readonly rescue?: string | number;
  /** How long running tasks may continue after `stop`; 25 s. */
  readonly grace?: string | number;
  /** How long after its timeout or cancellation a handler in its own process is killed, unless it sets this itself; 2 s. */
  readonly killAfter?: string | number;
  /** Name of the worker in lists and logs; default: the host. */
  readonly name?: string;
  /**
   * Attempts of tasks whose type and queue do not say it. This, what is said of all tasks below, `taskTypes` and
   * `queueSettings` the worker registers when it starts, as `taskq work` does: it holds for every producer.
   */
  readonly maxAttempts?: number | 'unlimited';
  /** How long such a task waits after a failed attempt. */
  readonly backoff?: Backoff;
  /** The longest an attempt of such a task may take. */
  readonly timeout?: string | number;
  /** How long such a task may wait before it starts. */
  readonly expires?: string | number;
  /** How long such a task is kept when it has finished. */
  readonly retention?: string;
  /** The same by type, stronger than what handlers say; and the queue and priority of tasks that do not say it. */
  readonly taskTypes?: TaskTypeInputs;
  /** The same by queue, and how long the errors of attempts and dead letters are kept. */
  readonly queueSettings?: QueueInputs;
  /** Claim nothing until resumed. */
  readonly paused?: true;
  /** End when no task is running, due or waiting for a retry. */
  readonly untilIdle?: true;
  /** End after n tasks. */
  readonly maxTasks?: number;
  /** Called with each log event. Errors it throws are ignored. */
  readonly onEvent?: (event: WorkerEvent) => void;
  /** Lowest level of the events it gets; `info`. Events of every single task are of level `debug`. */
  readonly logLevel?: Level;
}

/** What a worker is run with, but what makes it begin and end. */
export type WorkerSettings = Omit<WorkerOptions, 'handlers' | 'events' | 'stop' | 'hurry'>;

/** Check the options and fill in what they leave open, as the command line does. Throws TaskqError. */
export function settingsOf(options: CreateWorkerOptions): WorkerSettings {
  // A caller without types may give none at all.
  const unknown = Object.keys(options ?? {}).find((key) => !KEYS.includes(key));
  if (unknown !== undefined) throw refused(`unknown option "${unknown}"${didYouMean(unknown, KEYS)}`);
  const { databaseUrl, directUrl, name, maxTasks, handlers } = options ?? {};
  if (databaseUrl === undefined) throw refused('databaseUrl is missing');
  if (typeof handlers !== 'string' && (typeof handlers !== 'object' || handlers === null)) {
    throw refused('handlers are missing: pass a map by type, or the directory of their files');
  }
  const leaseMs = read(options, 'leaseMs', 'lease') as number;
  return {
    databaseUrl: checkedUrl('databaseUrl', databaseUrl),
    directUrl: directUrl === undefined ? null : checkedUrl('directUrl', directUrl),
    synchronousCommit: read(options, 'synchronousCommit', 'synchronousCommit') as SynchronousCommit,
    concurrency: read(options, 'concurrency', 'concurrency') as number,
    queues: read(options, 'queues', 'queues') as readonly string[] | null,
    batch: read(options, 'batch', 'batch') as 'auto' | number,
    leaseMs,
    heartbeatMs: heartbeatOf(options, leaseMs),
    pollMs: read(options, 'pollMs', 'poll') as number,
    rescueMs: read(options, 'rescueMs', 'rescue') as number,
    graceMs: read(options, 'graceMs', 'grace') as number,
    killAfterMs: read(options, 'killAfterMs', 'killAfter') as number,
    name,
    configured: configuredOf(options),
    paused: options.paused === true,
    untilIdle: options.untilIdle === true,
    maxTasks: maxTasks === undefined ? null : maxTasksOf(maxTasks),
    process: 'shared',
  };
}

/** What is said of tasks; undefined: nothing, and a worker that was told more keeps its word. */
function configuredOf(options: CreateWorkerOptions): ConfiguredSettings | undefined {
  const { maxAttempts, backoff, timeout, expires, retention } = options;
  const defaults = { maxAttempts, backoff, timeout, expires, retention };
  const types = sectionOf('taskTypes', options.taskTypes, checkTaskTypes);
  const queues = sectionOf('queueSettings', options.queueSettings, checkQueueSettings);
  if ([...Object.values(defaults), types, queues].every((said) => said === undefined)) return undefined;
  return configuredSettings({ defaults, types: types ?? {}, queues: queues ?? {} });
}

function sectionOf<Section extends object>(
  key: keyof CreateWorkerOptions,
  given: Section | undefined,
  check: (section: Section, checks: ValueChecks) => void,
): Section | undefined {
  if (given === undefined) return undefined;
  if (typeof given !== 'object' || given === null)
    throw refused(`${key}: expected an object of options by name`);
  try {
    check(given, VALUE_CHECKS);
  } catch (error) {
    throw error instanceof TaskqError ? refused(`${key}: ${error.message}`) : error;
  }
  return given;
}

/** The types asked for; null: all. */
export function typesOf(options: CreateWorkerOptions): readonly string[] | null {
  return read(options, 'types', 'types') as readonly string[] | null;
}

/** For handlers that do not say. */
export function isolationOf(options: CreateWorkerOptions): Isolation {
  return read(options, 'isolation', 'isolation') as Isolation;
}

const KEYS: readonly string[] = [
  'databaseUrl',
  'directUrl',
  'synchronousCommit',
  'handlers',
  'concurrency',
  'queues',
  'types',
  'isolation',
  'batch',
  'lease',
  'heartbeat',
  'poll',
  'rescue',
  'grace',
  'killAfter',
  'name',
  'maxAttempts',
  'backoff',
  'timeout',
  'expires',
  'retention',
  'taskTypes',
  'queueSettings',
  'paused',
  'untilIdle',
  'maxTasks',
  'onEvent',
  'logLevel',
] satisfies readonly (keyof CreateWorkerOptions)[];

/** The lowest level that `onEvent` is told. */
export function logLevelOf(options: CreateWorkerOptions): Level {
  return read(options, 'logLevel', 'logLevel') as Level;
}

function read(options: CreateWorkerOptions, field: SettingField, key: keyof CreateWorkerOptions): unknown {
  const setting = settingOf(field);
  const given = options[key];
  if (given === undefined) return setting.default;
  const value = setting.parse(given);
  if (value !== undefined) return value;
  throw refused(`${key} ${JSON.stringify(given)}: expected ${setting.expects}`);
}

function heartbeatOf(options: CreateWorkerOptions, leaseMs: number): number {
  if (options.heartbeat === undefined) return Math.floor(leaseMs / 3);
  const heartbeatMs = read(options, 'heartbeatMs', 'heartbeat') as number;
  if (heartbeatMs <= leaseMs / 3) return heartbeatMs;
  throw refused(`heartbeat ${JSON.stringify(options.heartbeat)}: expected at most a third of the lease`);
}

function maxTasksOf(maxTasks: number): number {
  if (Number.isSafeInteger(maxTasks) && maxTasks >= 1) return maxTasks;
  throw refused(`maxTasks ${String(maxTasks)}: expected a number from 1 on`);
}

function refused(problem: string): TaskqError {
  return new TaskqError('bad_option', problem, { exitCode: EXIT.usage });
}
