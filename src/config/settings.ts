import { LEVELS } from '../lib/level.ts';
import { redactUrl } from '../lib/redact-url.ts';
import { SYNCHRONOUS_COMMITS } from '../lib/synchronous-commit.ts';
import type { BackoffInput, QueueInputs, TaskTypeInputs } from './said-of-tasks.ts';
import {
  choiceSetting,
  countSetting,
  durationSetting,
  listSetting,
  objectSetting,
  type Setting,
  textSetting,
} from './setting.ts';

/** The longest lease, and the longest sleep of a worker; the database takes no longer ones. */
const A_DAY_MS = 86_400_000;

/**
 * Every setting, by the name of its value in the program: the one place that defines its key in a configuration
 * file, its environment variables, flag, default and help. Null stands for "not set".
 */
export const SETTINGS = {
  databaseUrl: textSetting({
    key: 'databaseUrl',
    env: ['TASKQ_DATABASE_URL', 'DATABASE_URL'],
    flag: '--database-url',
    help: 'PostgreSQL to work with',
    expects: 'a URL such as postgres://user@host:5432/database',
    show: redactUrl,
  }),
  directUrl: textSetting({
    key: 'directUrl',
    env: ['TASKQ_DIRECT_URL'],
    flag: null,
    help: 'the same database past a connection pooler, for LISTEN and migrate',
    expects: 'a URL such as postgres://user@host:5432/database',
    show: redactUrl,
  }),
  synchronousCommit: choiceSetting({
    key: 'synchronousCommit',
    env: ['TASKQ_SYNCHRONOUS_COMMIT'],
    flag: null,
    choices: SYNCHRONOUS_COMMITS,
    default: 'on',
    help: 'how sure a commit is before it is answered, whatever database and role say. With less than on, a crash or failover of the server may forget claims and outcomes that were answered: tasks run twice; and tasks that were enqueued: they are lost',
  }),
  database: choiceSetting({
    key: 'database',
    env: ['TASKQ_DATABASE'],
    flag: null,
    choices: ['embedded'],
    default: null,
    help: 'embedded: use a PostgreSQL of our own where no URL is set',
  }),
  stateDir: textSetting({
    key: 'stateDir',
    env: ['TASKQ_STATE_DIR'],
    flag: null,
    help: "where the local PostgreSQL keeps its programs and data; the user's data directory unless set",
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
    help: 'tasks a worker process runs at a time',
  }),
  processes: countSetting({
    key: 'processes',
    env: ['TASKQ_PROCESSES'],
    flag: '--processes',
    from: 1,
    to: 1000,
    words: [],
    default: 1,
    help: 'worker processes of one command; more than one are supervised: one that dies is started again',
  }),
  queues: listSetting({
    key: 'queues',
    env: ['TASKQ_QUEUES'],
    flag: '--queues',
    help: 'queues a worker serves; every one unless set',
  }),
  types: listSetting({
    key: 'types',
    env: ['TASKQ_TYPES'],
    flag: '--types',
    help: 'types a worker serves; every one it has a handler for unless set',
  }),
  handlers: {
    ...textSetting({
      key: 'handlers',
      env: ['TASKQ_HANDLERS'],
      flag: '--handlers',
      help: 'directory of the handlers; a relative path starts at the configuration file that says so',
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
    help: "where handlers run that do not say it themselves: in the worker's process, or in one of their own",
  }),
  batch: countSetting({
    key: 'batch',
    env: ['TASKQ_BATCH'],
    flag: '--batch',
    from: 1,
    to: 10_000,
    words: ['auto'],
    default: 'auto',
    help: 'tasks in one claim; auto follows how fast they are done',
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
    help: 'time between heartbeats; a third of the lease unless set, and never more',
  }),
  pollMs: durationSetting({
    key: 'poll',
    env: ['TASKQ_POLL'],
    flag: '--poll',
    atLeastMs: 10,
    atMostMs: A_DAY_MS,
    default: 1_000,
    help: 'how often a worker without work looks for some',
  }),
  graceMs: durationSetting({
    key: 'grace',
    env: ['TASKQ_GRACE'],
    flag: '--grace',
    atLeastMs: 0,
    default: 25_000,
    help: 'how long running tasks may finish after SIGTERM before they are given back',
  }),
  killAfterMs: durationSetting({
    key: 'killAfter',
    env: ['TASKQ_KILL_AFTER'],
    flag: '--kill-after',
    atLeastMs: 0,
    default: 2_000,
    help: 'how long after its timeout or a request to cancel a handler in a process of its own is killed, unless it says otherwise itself',
  }),
  rescueMs: durationSetting({
    key: 'rescue',
    env: ['TASKQ_RESCUE'],
    flag: null,
    atLeastMs: 10,
    default: 5_000,
    help: 'how often a worker looks for tasks of dead workers',
  }),
  maxAttempts: countSetting({
    key: 'maxAttempts',
    env: ['TASKQ_MAX_ATTEMPTS'],
    flag: null,
    from: 1,
    to: 2_147_483_647,
    words: ['unlimited'],
    default: null,
    help: 'attempts of a task, registered by workers for every producer; what the database says (3) unless set',
  }),
  backoff: objectSetting<'backoff', BackoffInput>({
    key: 'backoff',
    env: ['TASKQ_BACKOFF'],
    flag: null,
    help: 'how long a task waits after a failed attempt, registered by workers; what the database says unless set',
    expects: 'an object such as {"kind": "exponential", "base": "5s", "max": "1h", "jitter": 0.2}',
  }),
  timeoutMs: durationSetting({
    key: 'timeout',
    env: ['TASKQ_TIMEOUT'],
    flag: null,
    atLeastMs: 1,
    default: null,
    help: 'the longest an attempt may take, registered by workers; for ever unless set',
  }),
  expiresMs: durationSetting({
    key: 'expires',
    env: ['TASKQ_EXPIRES'],
    flag: null,
    atLeastMs: 1,
    default: null,
    help: 'how long a task may wait before it starts, registered by workers; for ever unless set',
  }),
  retention: textSetting({
    key: 'retention',
    env: ['TASKQ_RETENTION'],
    flag: null,
    help: 'how long a finished task is kept, registered by workers; what the database says (7d) unless set',
    expects: 'none, ever, or whole days such as 7d',
  }),
  name: textSetting({
    key: 'name',
    env: ['TASKQ_NAME'],
    flag: '--name',
    help: 'what a worker is called in lists and logs, its process added; its host unless set',
    expects: 'a name',
  }),
  taskTypes: objectSetting<'taskTypes', TaskTypeInputs>({
    key: 'taskTypes',
    env: [],
    flag: null,
    help: 'options by type, registered by workers that handle it: queue, priority, maxAttempts, backoff, timeout, expires, retention',
    expects: 'an object such as {"send-email": {"timeout": "30s"}}',
  }),
  queueSettings: objectSetting<'queueSettings', QueueInputs>({
    key: 'queueSettings',
    env: [],
    flag: null,
    help: 'options by queue, registered by workers: maxAttempts, backoff, timeout, expires, retention, errorsRetention, deadRetention',
    expects: 'an object such as {"mail": {"retention": "30d"}}',
  }),
  logLevel: choiceSetting({
    key: 'logLevel',
    env: ['TASKQ_LOG_LEVEL'],
    flag: null,
    choices: LEVELS,
    default: 'info',
    help: "how much a worker's log says",
  }),
};

type Settings = typeof SETTINGS;

/** The name of a value in the program, such as `leaseMs`; its key in a file is `lease`. */
export type SettingField = keyof Settings;

/** The value of every setting. */
export type Config = {
  readonly [Field in SettingField]: Settings[Field] extends Setting<string, infer _, infer Value>
    ? Value
    : never;
};

/** What a configuration file may hold. */
export type ConfigInput = {
  readonly [Field in SettingField as Settings[Field]['key']]?: NonNullable<Settings[Field]['input']>;
};

export const SETTING_FIELDS = Object.keys(SETTINGS) as readonly SettingField[];

/** The setting of a field, for code that goes through all of them. */
export function settingOf(field: SettingField): Setting<string, unknown, unknown> {
  return SETTINGS[field] as Setting<string, unknown, unknown>;
}
