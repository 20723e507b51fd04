import type { Command } from 'commander';
import { parseMaxAttempts } from '../../domain/enqueue-options.ts';
import { PRIORITY_NAMES } from '../../domain/priority.ts';
import { parseRetention } from '../../domain/retention.ts';
import { DEFAULT_SETTINGS, QUEUE_SETTINGS, TYPE_SETTINGS } from '../../domain/setting-tables.ts';
import { badOption } from '../../lib/bad-option.ts';
import { TaskqError } from '../../lib/errors.ts';

const SETTINGS = { ...DEFAULT_SETTINGS, ...TYPE_SETTINGS, ...QUEUE_SETTINGS };

/** The settings for tasks: for all, for those of a type, or for those of a queue. */
export type SettingName = keyof typeof SETTINGS;

/** True: an option that may stand without a value does. */
export type SettingOptions = { readonly [Name in SettingName]?: string | true };

interface SettingOption {
  readonly flags: string;
  readonly about: string;
  readonly suggestions: readonly string[];
  /** Absent: as the setting is parsed everywhere. */
  readonly parse?: (text: string, flag: string) => unknown;
}

/** Settings of one table, such as those of queues. */
type Settings = { readonly [Name in SettingName]?: (typeof SETTINGS)[Name] };

/** Declare the options for these settings. */
export function declareSettings(command: Command, settings: Settings, after: OptionsAfter = {}): Command {
  for (const name of namesOf(settings)) {
    command.option(OPTIONS[name].flags, OPTIONS[name].about);
    const more = after[name];
    if (more !== undefined) command.option(...more);
  }
  return command;
}

/** By setting: the flags of an option that goes with it, and its description. */
type OptionsAfter = Readonly<Partial<Record<keyof typeof OPTIONS, readonly [flags: string, about: string]>>>;

export function settingSuggestions(settings: Settings): Record<string, readonly string[]> {
  return Object.fromEntries(
    namesOf(settings).map((name) => [name, [...OPTIONS[name].suggestions, 'default']]),
  );
}

/** Read the settings to change, by column; null: remove it. Throws TaskqError (exit 2), also where none is given. */
export function readSettings(options: SettingOptions, settings: Settings): Readonly<Record<string, unknown>> {
  const names = namesOf(settings);
  const given = names.filter((name) => options[name] !== undefined);
  if (given.length === 0)
    throw badOption(`nothing to set: give an option such as ${EXAMPLES[names[0]!] ?? '--max-attempts 5'}`);
  return Object.fromEntries(
    given.map((name) => {
      const { column, parse: usual } = SETTINGS[name];
      const { flags, parse = usual } = OPTIONS[name];
      const text = options[name]!;
      return [column, text === 'default' ? null : parse(text as string, flags.split(' ')[0]!)];
    }),
  );
}

function namesOf(settings: Settings): readonly SettingName[] {
  return Object.keys(settings) as SettingName[];
}

const EXAMPLES: Partial<Record<SettingName, string>> = { retention: '--retention 7d' };

const OPTIONS: Record<SettingName, SettingOption> = {
  maxAttempts: {
    flags: '--max-attempts <n|unlimited>',
    about: 'attempts before a task becomes a dead letter',
    suggestions: ['unlimited'],
    parse: parseMaxAttempts,
  },
  timeout: {
    flags: '--timeout <duration>',
    about: 'time limit of an attempt',
    suggestions: [],
  },
  backoff: {
    flags: '--backoff <kind,base,…>',
    about: 'wait after a failed attempt: exponential,5s,factor=2,max=1h,jitter=0.2',
    suggestions: ['fixed,10m', 'linear,5s', 'quadratic,5s', 'exponential,5s,factor=2,max=1h,jitter=0.2'],
  },
  expires: {
    flags: '--expires <duration>',
    about: 'do not start tasks once they have been due for this long; applies to tasks enqueued from now on',
    suggestions: [],
  },
  retention: {
    flags: '--retention <period>',
    about: 'how long finished tasks are kept: 7d, none, ever; above 60 days, until the end of the month',
    suggestions: ['none', 'ever'],
    parse: period,
  },
  errorsRetention: {
    flags: '--errors-retention <period>',
    about:
      'how long the errors of attempts are kept: 30d, none, ever; above 60 days, until the end of the month',
    suggestions: ['none', 'ever'],
    parse: period,
  },
  deadRetention: {
    flags: '--dead-retention <period>',
    about: 'how long dead letters are kept: 90d, ever',
    suggestions: ['ever'],
    parse: deadPeriod,
  },
  queue: {
    flags: '--queue <queue>',
    about: 'queue of tasks that are enqueued without one',
    suggestions: [],
  },
  priority: {
    flags: '--priority <0-9>',
    about: 'priority of tasks that are enqueued without one; or critical, high, medium, low',
    suggestions: [...'0123456789', ...Object.keys(PRIORITY_NAMES)],
  },
  breaker: {
    flags: '--breaker <failures/duration>',
    about: 'stop starting its tasks after this many failures within this time: 5/1m',
    suggestions: ['5/1m'],
  },
  keepLog: {
    flags: '--keep-log <failed|always|none>',
    about:
      'of which attempts the last 100 lines of their log are kept: of those that did not complete (failed)',
    suggestions: ['failed', 'always', 'none'],
  },
  onFailure: {
    flags: '--on-failure <retry|complete>',
    about:
      'what the failure of an attempt does to its task; complete: it ends, its error is recorded (retry)',
    suggestions: ['retry', 'complete'],
  },
  onComplete: {
    flags: '--on-complete <type>',
    about: 'enqueue a task of this type when one completes',
    suggestions: [],
  },
  onDead: {
    flags: '--on-dead <type>',
    about: 'enqueue a task of this type when one becomes a dead letter',
    suggestions: [],
  },
  groupLimit: {
    flags: '--group-limit <n>',
    about: 'tasks of each group that have a slot at a time (any number); 1 runs them one after the other',
    suggestions: ['1'],
  },
  groupRate: {
    flags: '--group-rate <n/duration>',
    about: 'rate at which tasks of each group get slots, over all workers: 10/1s',
    suggestions: ['10/1s'],
  },
  groupBurst: {
    flags: '--group-burst <n>',
    about:
      'how many of a group may get one at once after a pause; needs a rate (what that allows in a tenth of a second)',
    suggestions: ['1', '20'],
  },
  groupOrder: {
    flags: '--group-order <strict|relaxed>',
    about: 'whether a task that waits for a retry keeps its slot, so that none of its group passes (strict)',
    suggestions: ['strict', 'relaxed'],
  },
  groupOnDead: {
    flags: '--group-on-dead <go-on|hold>',
    about: 'whether a group stops at a dead letter, until it is revived or discarded (go-on)',
    suggestions: ['go-on', 'hold'],
  },
  groupBy: {
    flags: '--group-by <type|none>',
    about:
      'put tasks that name no group into that of their type; applies to tasks enqueued from now on (none)',
    suggestions: ['type', 'none'],
  },
  maxRunning: {
    flags: '--max-running <n>',
    about: 'tasks of the queue that run at once, on all workers together',
    suggestions: ['1'],
  },
  rate: {
    flags: '--rate <n/duration>',
    about: 'rate at which tasks of the queue start, over all workers: 100/1m',
    suggestions: ['100/1m'],
  },
  burst: {
    flags: '--burst <n>',
    about: 'how many may start at once after a pause; needs a rate (what that allows in a tenth of a second)',
    suggestions: ['1', '20'],
  },
  mayEnqueue: {
    flags: '--may-enqueue <queues|none>',
    about: 'queues into which its handlers may enqueue, with commas between them (any)',
    suggestions: ['none'],
  },
  maxLosses: {
    flags: '--max-losses <n|unlimited>',
    about: 'workers that may be lost with a task before it is a dead letter (3)',
    suggestions: ['unlimited'],
    parse: parseMaxAttempts,
  },
  recordLeases: {
    flags: '--record-leases [on|off]',
    about: 'record each claim of its tasks by a worker in taskq.leases (off)',
    suggestions: ['on', 'off'],
  },
  recordEvents: {
    flags: '--record-events [on|off]',
    about: 'record the end of each of its tasks for taskq events (off)',
    suggestions: ['on', 'off'],
  },
};

function period(text: string, flag: string): string {
  try {
    return parseRetention(text);
  } catch (error) {
    if (!(error instanceof TaskqError)) throw error;
    throw badOption(
      `${flag} ${JSON.stringify(text)}: expected none, ever, default, or whole days such as 7d`,
    );
  }
}

/** Refuse to keep dead letters for no time: an operator must have time to decide on them. */
function deadPeriod(text: string, flag: string): string {
  const days = text === 'none' ? null : period(text, flag);
  if (days !== null) return days;
  throw badOption(`${flag} "none": expected ever, default, or whole days such as 90d`);
}
