import type { Command } from 'commander';
import { normaliseBackoff } from '../../domain/backoff.ts';
import { normaliseBreaker } from '../../domain/breaker.ts';
import { parseMaxAttempts } from '../../domain/enqueue-options.ts';
import {
  parseGroupBy,
  parseGroupLimit,
  parseGroupOnDead,
  parseGroupOrder,
} from '../../domain/group-settings.ts';
import { checkedName } from '../../domain/names.ts';
import { PRIORITY_NAMES, parsePriority } from '../../domain/priority.ts';
import { parseBurst, parseRate } from '../../domain/queue-limits.ts';
import { parseRetention } from '../../domain/retention.ts';
import { badOption } from '../../lib/bad-option.ts';
import { parseDuration } from '../../lib/duration.ts';
import { TaskqError } from '../../lib/errors.ts';

/** The settings for tasks: for all, for those of a type, or for those of a queue. */
export interface SettingOptions {
  readonly maxAttempts?: string;
  readonly timeout?: string;
  readonly backoff?: string;
  readonly expires?: string;
  readonly retention?: string;
  readonly errorsRetention?: string;
  readonly deadRetention?: string;
  readonly queue?: string;
  readonly priority?: string;
  readonly breaker?: string;
  readonly groupLimit?: string;
  readonly groupOrder?: string;
  readonly groupOnDead?: string;
  readonly groupBy?: string;
  readonly maxRunning?: string;
  readonly rate?: string;
  readonly burst?: string;
}

export type SettingName = keyof SettingOptions;

interface SettingOption {
  readonly flags: string;
  readonly about: string;
  /** The column. */
  readonly stored: string;
  readonly suggestions: readonly string[];
  readonly parse: (text: string, flag: string) => unknown;
}

/** Declare the options for these settings. */
export function declareSettings(command: Command, names: readonly SettingName[]): Command {
  for (const name of names) command.option(OPTIONS[name].flags, OPTIONS[name].about);
  return command;
}

/** The completions for these settings. */
export function settingSuggestions(names: readonly SettingName[]): Record<string, readonly string[]> {
  return Object.fromEntries(names.map((name) => [name, [...OPTIONS[name].suggestions, 'default']]));
}

/** Read the settings to change, by column; null: remove it. Throws TaskqError (exit 2), also where none is given. */
export function readSettings(
  options: SettingOptions,
  names: readonly SettingName[],
): Readonly<Record<string, unknown>> {
  const given = names.filter((name) => options[name] !== undefined);
  if (given.length === 0)
    throw badOption(`nothing to set: give an option such as ${EXAMPLES[names[0]!] ?? '--max-attempts 5'}`);
  return Object.fromEntries(
    given.map((name) => {
      const { flags, stored, parse } = OPTIONS[name];
      const text = options[name]!;
      return [stored, text === 'default' ? null : parse(text, flags.split(' ')[0]!)];
    }),
  );
}

const EXAMPLES: Partial<Record<SettingName, string>> = { retention: '--retention 7d' };

const OPTIONS: Record<SettingName, SettingOption> = {
  maxAttempts: {
    flags: '--max-attempts <n|unlimited>',
    about: 'attempts before a task becomes a dead letter',
    stored: 'max_attempts',
    suggestions: ['unlimited'],
    parse: parseMaxAttempts,
  },
  timeout: {
    flags: '--timeout <duration>',
    about: 'time limit of an attempt',
    stored: 'timeout_ms',
    suggestions: [],
    parse: someTime,
  },
  backoff: {
    flags: '--backoff <kind,base,…>',
    about: 'wait after a failed attempt: exponential,5s,factor=2,max=1h,jitter=0.2',
    stored: 'backoff',
    suggestions: ['fixed,10m', 'linear,5s', 'quadratic,5s', 'exponential,5s,factor=2,max=1h,jitter=0.2'],
    parse: normaliseBackoff,
  },
  expires: {
    flags: '--expires <duration>',
    about: 'do not start tasks once they have been due for this long; applies to tasks enqueued from now on',
    stored: 'expires_ms',
    suggestions: [],
    parse: someTime,
  },
  retention: {
    flags: '--retention <period>',
    about: 'how long finished tasks are kept: 7d, none, ever; above 60 days, until the end of the month',
    stored: 'retention',
    suggestions: ['none', 'ever'],
    parse: period,
  },
  errorsRetention: {
    flags: '--errors-retention <period>',
    about:
      'how long the errors of attempts are kept: 30d, none, ever; above 60 days, until the end of the month',
    stored: 'errors_retention',
    suggestions: ['none', 'ever'],
    parse: period,
  },
  deadRetention: {
    flags: '--dead-retention <period>',
    about: 'how long dead letters are kept: 90d, ever',
    stored: 'dead_retention',
    suggestions: ['ever'],
    parse: deadPeriod,
  },
  queue: {
    flags: '--queue <queue>',
    about: 'queue of tasks that are enqueued without one',
    stored: 'queue',
    suggestions: [],
    parse: (text, flag) => checkedName('queue', text, flag),
  },
  priority: {
    flags: '--priority <0-9>',
    about: 'priority of tasks that are enqueued without one; or critical, high, medium, low',
    stored: 'priority',
    suggestions: [...'0123456789', ...Object.keys(PRIORITY_NAMES)],
    parse: parsePriority,
  },
  breaker: {
    flags: '--breaker <failures/duration>',
    about: 'stop starting its tasks after this many failures within this time: 5/1m',
    stored: 'breaker',
    suggestions: ['5/1m'],
    parse: normaliseBreaker,
  },
  groupLimit: {
    flags: '--group-limit <n>',
    about: 'tasks of each group that have a slot at a time (any number); 1 runs them one after the other',
    stored: 'group_limit',
    suggestions: ['1'],
    parse: parseGroupLimit,
  },
  groupOrder: {
    flags: '--group-order <strict|relaxed>',
    about: 'whether a task that waits for a retry keeps its slot, so that none of its group passes (strict)',
    stored: 'group_order',
    suggestions: ['strict', 'relaxed'],
    parse: parseGroupOrder,
  },
  groupOnDead: {
    flags: '--group-on-dead <go-on|hold>',
    about: 'whether a group stops at a dead letter, until it is revived or discarded (go-on)',
    stored: 'group_on_dead',
    suggestions: ['go-on', 'hold'],
    parse: parseGroupOnDead,
  },
  groupBy: {
    flags: '--group-by <type|none>',
    about:
      'put tasks that name no group into that of their type; applies to tasks enqueued from now on (none)',
    stored: 'group_by',
    suggestions: ['type', 'none'],
    parse: parseGroupBy,
  },
  maxRunning: {
    flags: '--max-running <n>',
    about: 'tasks of the queue that run at once, on all workers together',
    stored: 'max_running',
    suggestions: ['1'],
    parse: parseGroupLimit,
  },
  rate: {
    flags: '--rate <n/duration>',
    about: 'tasks of the queue that start in a time, on all workers together: 100/1m',
    stored: 'rate',
    suggestions: ['100/1m'],
    parse: parseRate,
  },
  burst: {
    flags: '--burst <n>',
    about: 'how many may start at once after a pause; needs a rate (what that allows in a tenth of a second)',
    stored: 'burst',
    suggestions: ['1', '20'],
    parse: parseBurst,
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

function someTime(text: string, flag: string): number {
  const ms = parseDuration(text, flag);
  if (ms > 0) return ms;
  throw badOption(`${flag} ${JSON.stringify(text)}: expected more than 0`);
}
