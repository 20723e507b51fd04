import { CLAIM_FORMS } from '../domain/claim-form.ts';
import type { ScheduleInputs } from '../domain/schedule/definition.ts';
import { QUEUE_SETTINGS, type SettingTable, TYPE_SETTINGS } from '../domain/setting-tables.ts';
import { LEVELS } from '../lib/level.ts';
import { redactUrl } from '../lib/redact-url.ts';
import { SYNCHRONOUS_COMMITS } from '../lib/synchronous-commit.ts';
import {
  choiceSetting,
  countSetting,
  durationSetting,
  listSetting,
  objectSetting,
  type Setting,
  textSetting,
} from './setting.ts';
import type { BackoffInput, QueueInputs, TaskTypeInputs } from './task-settings.ts';

/** Maximum lease and poll interval; the database accepts no longer. */
const A_DAY_MS = 86_400_000;

/**
 * Every setting, by its field in `Config`: the definition of its key in a configuration file, its environment
 * variables, default and help, and the name of its flag, which its command declares. Null means not set.
 */
export const SETTINGS = {
  databaseUrl: textSetting({
    key: 'databaseUrl',
    env: ['TASKQ_DATABASE_URL', 'DATABASE_URL'],
    flag: '--database-url',
    help: 'PostgreSQL database to use',
    expects: 'a URL such as postgres://user@host:5432/database',
    show: redactUrl,
  }),
  directUrl: textSetting({
    key: 'directUrl',
    env: ['TASKQ_DIRECT_URL'],
    flag: null,
    help: 'URL of the same database bypassing a connection pooler, for LISTEN and migrate',
    expects: 'a URL such as postgres://user@host:5432/database',
    show: redactUrl,
  }),
  synchronousCommit: choiceSetting({
    key: 'synchronousCommit',
    env: ['TASKQ_SYNCHRONOUS_COMMIT'],
    flag: null,
    choices: SYNCHRONOUS_COMMITS,
    default: 'on',
    help: 'durability of commits, overriding the database and the role. Below on, a crash or failover of the server may lose recent claims and outcomes (tasks run twice) and enqueued tasks',
  }),
  database: choiceSetting({
    key: 'database',
    env: ['TASKQ_DATABASE'],
    flag: null,
    choices: ['embedded'],
    default: null,
    help: 'embedded: use the local PostgreSQL if no URL is set',
  }),
  stateDir: textSetting({
    key: 'stateDir',
    env: ['TASKQ_STATE_DIR'],
    flag: null,
    help: "directory of the local PostgreSQL's programs and data; default: the user's data directory",
    expects: 'a directory',
  }),
  concurrency: countSetting({
    key: 'concurrency',
    env: ['TASKQ_CONCURRENCY'],
    flag: '--concurrency',
    from: 1,
    to: 10_000,
    words: [],
    default: 8,
    help: 'tasks each worker process runs at a time',
  }),
  processes: countSetting({
    key: 'processes',
    env: ['TASKQ_PROCESSES'],
    flag: '--processes',
    from: 1,
    to: 1000,
    words: [],
    default: 1,
    help: 'number of worker processes; with more than one, those that die are restarted',
  }),
  queues: listSetting({
    key: 'queues',
    env: ['TASKQ_QUEUES'],
    flag: '--queues',
    help: 'queues to serve; without it: every queue',
  }),
  types: listSetting({
    key: 'types',
    env: ['TASKQ_TYPES'],
    flag: '--types',
    help: 'types to serve; without it: all that have a handler',
  }),
  handlers: {
    ...textSetting({
      key: 'handlers',
      env: ['TASKQ_HANDLERS'],
      flag: '--handlers',
      help: 'directory of the handlers; relative to the configuration file that sets it',
      expects: 'a directory',
    }),
    default: './handlers',
  } as Setting<'handlers', string, string>,
  isolation: choiceSetting({
    key: 'isolation',
    env: ['TASKQ_ISOLATION'],
    flag: '--isolation',
    choices: ['inline', 'process'],
    default: 'inline',
    help: "where handlers run unless they set it themselves: in the worker's process or in a child process",
  }),
  batch: countSetting({
    key: 'batch',
    env: ['TASKQ_BATCH'],
    flag: '--batch',
    from: 1,
    to: 10_000,
    words: ['auto'],
    default: 'auto',
    help: 'tasks per claim; auto adapts to how fast they finish',
  }),
  claim: choiceSetting({
    key: 'claim',
    env: ['TASKQ_CLAIM'],
    flag: '--claim',
    choices: CLAIM_FORMS,
    default: 'skip-locked',
    help: 'how to claim beside other workers; optimistic does without SKIP LOCKED, and costs more',
  }),
  leaseMs: durationSetting({
    key: 'lease',
    env: ['TASKQ_LEASE'],
    flag: '--lease',
    atLeastMs: 100,
    atMostMs: A_DAY_MS,
    default: 30_000,
    help: 'how long a claimed task is held without a heartbeat',
  }),
  heartbeatMs: durationSetting({
    key: 'heartbeat',
    env: ['TASKQ_HEARTBEAT'],
    flag: null,
    atLeastMs: 10,
    default: 10_000,
    help: 'time between heartbeats; default and maximum: a third of the lease',
  }),
  pollMs: durationSetting({
    key: 'poll',
    env: ['TASKQ_POLL'],
    flag: '--poll',
    atLeastMs: 10,
    atMostMs: A_DAY_MS,
    default: 1_000,
    help: 'how often to look for tasks while idle',
  }),
  graceMs: durationSetting({
    key: 'grace',
    env: ['TASKQ_GRACE'],
    flag: '--grace',
    atLeastMs: 0,
    default: 25_000,
    help: 'how long running tasks may continue after SIGTERM before they are given back',
  }),
  killAfterMs: durationSetting({
    key: 'killAfter',
    env: ['TASKQ_KILL_AFTER'],
    flag: '--kill-after',
    atLeastMs: 0,
    default: 2_000,
    help: 'how long after its timeout or cancellation a handler in its own process is killed, unless it sets this itself',
  }),
  rescueMs: durationSetting({
    key: 'rescue',
    env: ['TASKQ_RESCUE'],
    flag: null,
    atLeastMs: 10,
    default: 5_000,
    help: 'how often to look for tasks of dead workers',
  }),
  maxAttempts: countSetting({
    key: 'maxAttempts',
    env: ['TASKQ_MAX_ATTEMPTS'],
    flag: null,
    from: 1,
    to: 2_147_483_647,
    words: ['unlimited'],
    default: null,
    help: 'attempts before a task becomes a dead letter; workers register it for all producers; default: as set in the database (3)',
  }),
  backoff: objectSetting<'backoff', BackoffInput>({
    key: 'backoff',
    env: ['TASKQ_BACKOFF'],
    flag: null,
    help: 'wait after a failed attempt; workers register it for all producers; default: as set in the database',
    expects: 'an object such as {"kind": "exponential", "base": "5s", "max": "1h", "jitter": 0.2}',
  }),
  timeoutMs: durationSetting({
    key: 'timeout',
    env: ['TASKQ_TIMEOUT'],
    flag: null,
    atLeastMs: 1,
    default: null,
    help: 'time limit of an attempt; workers register it for all producers; default: none',
  }),
  expiresMs: durationSetting({
    key: 'expires',
    env: ['TASKQ_EXPIRES'],
    flag: null,
    atLeastMs: 1,
    default: null,
    help: 'do not start a task after this time has passed; workers register it for all producers; default: no limit',
  }),
  retention: textSetting({
    key: 'retention',
    env: ['TASKQ_RETENTION'],
    flag: null,
    help: 'how long finished tasks are kept; workers register it for all producers; default: as set in the database (7d)',
    expects: 'none, ever, or whole days such as 7d',
  }),
  name: textSetting({
    key: 'name',
    env: ['TASKQ_NAME'],
    flag: '--name',
    help: 'name of the worker in lists and logs; default: the host',
    expects: 'a name',
  }),
  taskTypes: objectSetting<'taskTypes', TaskTypeInputs>({
    key: 'taskTypes',
    env: [],
    flag: null,
    help: `options by type, which workers that handle it register for all producers: ${namesOf(TYPE_SETTINGS)}`,
    expects: 'an object such as {"send-email": {"timeout": "30s"}}',
  }),
  queueSettings: objectSetting<'queueSettings', QueueInputs>({
    key: 'queueSettings',
    env: [],
    flag: null,
    help: `options by queue, which workers register for all producers: ${namesOf(QUEUE_SETTINGS)}`,
    expects: 'an object such as {"mail": {"retention": "30d"}}',
  }),
  schedules: objectSetting<'schedules', ScheduleInputs>({
    key: 'schedules',
    env: [],
    flag: null,
    help: 'schedules by name, with expression, type, payload and options; workers add those that do not exist, and taskq schedule sync makes them as they are here',
    expects: 'an object such as {"nightly": {"expression": "30 2 * * *", "type": "report"}}',
  }),
  logLevel: choiceSetting({
    key: 'logLevel',
    env: ['TASKQ_LOG_LEVEL'],
    flag: null,
    choices: LEVELS,
    default: 'info',
    help: "lowest level of the worker's log",
  }),
};

type Settings = typeof SETTINGS;

/** A field of `Config`, such as `leaseMs`; its key in a file is `lease`. */
export type SettingField = keyof Settings;

/** The value of every setting. */
export type Config = {
  readonly [Field in SettingField]: Settings[Field] extends Setting<string, infer _, infer Value>
    ? Value
    : never;
};

/** The content of a configuration file. */
export type ConfigInput = {
  readonly [Field in SettingField as Settings[Field]['key']]?: NonNullable<Settings[Field]['input']>;
};

export const SETTING_FIELDS = Object.keys(SETTINGS) as readonly SettingField[];

function namesOf(table: SettingTable): string {
  return Object.keys(table).join(', ');
}

/** Returns the setting of a field, typed for code that iterates over all settings. */
export function settingOf(field: SettingField): Setting<string, unknown, unknown> {
  return SETTINGS[field] as Setting<string, unknown, unknown>;
}
