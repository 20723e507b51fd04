import type { Command } from 'commander';
import { checkedName } from '../domain/names.ts';
import { PRIORITY_NAMES, parsePriority } from '../domain/priority.ts';
import type { TaskStatus } from '../domain/task.ts';
import { checkedTaskId } from '../domain/task-id.ts';
import { EXIT, TaskqError } from '../lib/errors.ts';
import { didYouMean } from '../lib/nearest.ts';
import type { TaskFilter } from '../queue/find-tasks.ts';
import { sinceOf } from '../queue/since.ts';
import type { Suggestions } from './command.ts';

/** The options by which tasks are chosen, wherever tasks are listed or acted on. */
export interface FilterOptions {
  readonly queue?: string;
  readonly type?: string;
  readonly status?: readonly string[];
  readonly tag?: readonly string[];
  readonly reason?: string;
  readonly key?: string;
  readonly priority?: string;
  readonly since?: string;
  readonly failed?: true;
  readonly byHand?: true;
}

export type FilterName = keyof FilterOptions;

/** Which tasks a command is about, and by what they are chosen. */
export interface Choice {
  readonly statuses: readonly TaskStatus[];
  readonly by: readonly FilterName[];
}

interface FilterOption<Name extends FilterName> {
  readonly flags: string;
  readonly about: string;
  /** It may be given many times. */
  readonly isMany?: true;
  readonly read: (given: NonNullable<FilterOptions[Name]>, choice: Choice) => TaskFilter;
}

const FILTERS: { readonly [Name in FilterName]: FilterOption<Name> } = {
  queue: {
    flags: '--queue <queue>',
    about: 'only tasks of this queue',
    read: (name) => ({ queue: checkedName('queue', name) }),
  },
  type: {
    flags: '--type <type>',
    about: 'only tasks of this type',
    read: (name) => ({ type: checkedName('type', name) }),
  },
  status: {
    flags: '--status <status>',
    about: 'only these',
    isMany: true,
    read: (given, { statuses }) => ({
      status: given.flatMap((text) => text.split(',')).map((status) => checkedStatus(status, statuses)),
    }),
  },
  tag: {
    flags: '--tag <name=value>',
    about: 'only tasks with this tag; may be given again',
    isMany: true,
    read: (given) => ({ tags: parseTags(given) }),
  },
  reason: {
    flags: '--reason <reason>',
    about: 'only what is dead, or was cancelled, for this reason',
    read: (reason) => ({ reason }),
  },
  key: {
    flags: '--key <key>',
    about: 'only tasks with this unique key',
    read: (key) => ({ key: checkedName('key', key) }),
  },
  priority: {
    flags: '--priority <0-9>',
    about: 'only tasks of this priority',
    read: (priority) => ({ priority: parsePriority(priority) }),
  },
  since: {
    flags: '--since <time>',
    about: 'only tasks created since then, dead letters: that died since then; 2h, or 2030-01-31T09:00:00Z',
    read: (since) => ({ since: parseSince(since) }),
  },
  failed: {
    flags: '--failed',
    about: 'only tasks that failed: waiting for another attempt, or dead',
    read: (failed) => ({ failed }),
  },
  byHand: {
    flags: '--by-hand',
    about: 'only dead letters that were put away by hand',
    read: () => ({ by_hand: true }),
  },
};

/** Declare the options that choose tasks. */
export function declareFilter(command: Command, { by, statuses }: Choice): Command {
  for (const name of by) {
    const { flags, about, isMany } = FILTERS[name];
    const said = name === 'status' ? `${about}: ${statuses.join(', ')}` : about;
    if (isMany) command.option(flags, said, collect);
    else command.option(flags, said);
  }
  return command;
}

/** Read them: what was given. Throws TaskqError (exit 2). */
export function filterOf(options: FilterOptions, choice: Choice): TaskFilter {
  const read = <Name extends FilterName>(name: Name): TaskFilter => {
    const option: FilterOption<Name> = FILTERS[name];
    const given = options[name];
    return given === undefined ? {} : option.read(given, choice);
  };
  return Object.assign({}, ...choice.by.map((name) => read(name)));
}

/** Their names as they are typed: `--queue, --type`. */
export function filterFlags({ by }: Choice): string {
  return by.map((name) => FILTERS[name].flags.split(' ')[0]!).join(', ');
}

/** What a shell may offer for them. */
export function filterSuggestions({ statuses }: Choice): Suggestions {
  return {
    status: statuses,
    priority: [...'0123456789', ...Object.keys(PRIORITY_NAMES)],
  };
}

function checkedStatus(status: string, known: readonly TaskStatus[]): string {
  if (known.some((name) => name === status)) return status;
  throw badOption(
    `--status ${JSON.stringify(status)}: expected ${known.join(', ')}${didYouMean(status, known)}`,
  );
}

/** Collect an option that may be given many times. */
export function collect(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}

/** Read `--tag k=v …`. Throws TaskqError (exit 2). */
export function parseTags(given: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    given.map((tag) => {
      const at = tag.indexOf('=');
      if (at < 1) throw badOption(`--tag ${JSON.stringify(tag)}: expected name=value`);
      return [checkedName('tag', tag.slice(0, at)), tag.slice(at + 1)];
    }),
  );
}

/** Read `--since`: a duration back from now, or an instant. Returns ISO 8601. Throws TaskqError (exit 2). */
export function parseSince(text: string): string {
  return sinceOf(text, '--since');
}

/** Read the number of a task. Throws TaskqError (exit 2). */
export function parseId(text: string, what = 'id'): string {
  return checkedTaskId(text, what);
}

/** Read `--limit`. Throws TaskqError (exit 2). */
export function parseLimit(text: string): number {
  const limit = /^\d{1,6}$/.test(text) ? Number(text) : 0;
  if (limit >= 1 && limit <= 100_000) return limit;
  throw badOption(`--limit ${JSON.stringify(text)}: expected a whole number from 1 to 100000`);
}

/** Declare the options of a page: `--limit` and `--after`. */
export function declarePage(command: Command): Command {
  return command
    .option('--limit <n>', 'at most so many', '100')
    .option('--after <place>', 'the next page, from where the page before ended');
}

/** Read `--after`, which the page before printed. Throws TaskqError (exit 2). */
export function parsePlace(text: string | undefined, { status }: TaskFilter): string | null {
  if (text === undefined) return null;
  if (status?.join() !== 'dead') return parseId(text, '--after');
  // A time of death and an id.
  if (/^-?\d{1,18}-\d{1,18}$/.test(text)) return text;
  throw badOption(`--after ${JSON.stringify(text)}: expected what the page before printed`);
}

export function badOption(message: string, hint?: string): TaskqError {
  return new TaskqError('bad_option', message, { exitCode: EXIT.usage, ...(hint !== undefined && { hint }) });
}
