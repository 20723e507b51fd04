import { type Command, Option } from 'commander';
import { checkedName } from '../../domain/names.ts';
import { PRIORITY_NAMES } from '../../domain/priority.ts';
import type { TaskStatus } from '../../domain/task.ts';
import { checkedTaskId } from '../../domain/task-id.ts';
import { badOption } from '../../lib/bad-option.ts';
import { oneValueEach } from '../../lib/one-value-each.ts';
import {
  FILTER_NAMES,
  type Filtered,
  type FilterName,
  type ListFilter,
  type TaskFilter,
} from '../../queue/inspect/task-filter.ts';
import type { Suggestions } from '../run/command.ts';
import { collect } from './collect.ts';

/** The options that select tasks, wherever tasks are listed or acted on. */
export interface FilterOptions {
  readonly status?: readonly string[];
  readonly failed?: true;
  readonly type?: string;
  readonly queue?: string;
  readonly tag?: readonly string[];
  readonly reason?: string;
  readonly key?: string;
  readonly group?: string;
  readonly workflow?: string;
  readonly priority?: string;
  readonly where?: readonly string[];
  readonly since?: string;
  readonly before?: string;
  readonly byHand?: true;
  readonly fingerprint?: string;
}

interface FilterOption<Option extends keyof FilterOptions, Name extends FilterName> {
  readonly flags: string;
  readonly about: string;
  readonly option: Option;
  /** For an option that may be repeated. */
  readonly read?: (given: NonNullable<FilterOptions[Option]>) => ListFilter[Name];
}

const OPTIONS: {
  readonly [Name in FilterName]-?: FilterOption<
    Name extends 'tags' ? 'tag' : Name extends 'payload' ? 'where' : Name & keyof FilterOptions,
    Name
  >;
} = {
  status: {
    flags: '--status <status>',
    about: 'only these',
    option: 'status',
    // Unknown statuses are refused where all filters are checked.
    read: (given) => given.flatMap((text) => text.split(',')) as TaskStatus[],
  },
  failed: {
    flags: '--failed',
    about: 'only tasks that failed: waiting for another attempt, or dead',
    option: 'failed',
  },
  type: { flags: '--type <type>', about: 'only tasks of this type', option: 'type' },
  queue: { flags: '--queue <queue>', about: 'only tasks of this queue', option: 'queue' },
  tags: {
    flags: '--tag <name=value>',
    about: 'only tasks with this tag; repeatable',
    option: 'tag',
    read: parseTags,
  },
  reason: {
    flags: '--reason <reason>',
    about: 'only tasks that died or were cancelled for this reason',
    option: 'reason',
  },
  key: { flags: '--key <key>', about: 'only tasks with this unique key', option: 'key' },
  group: { flags: '--group <group>', about: 'only tasks of this group', option: 'group' },
  workflow: { flags: '--workflow <id>', about: 'only tasks of this workflow', option: 'workflow' },
  priority: { flags: '--priority <0-9>', about: 'only tasks of this priority', option: 'priority' },
  payload: {
    flags: '--where <payload.path=value>',
    about: 'only tasks whose payload has this value there, such as payload.order.id=42; repeatable',
    option: 'where',
    read: parseValues,
  },
  since: { flags: '--since <time>', about: '', option: 'since' },
  before: { flags: '--before <time>', about: '', option: 'before' },
  byHand: {
    flags: '--by-hand',
    about: 'only dead letters added by hand',
    option: 'byHand',
  },
  fingerprint: {
    flags: '--fingerprint <digits>',
    about: 'only dead letters of this group of taskq dead groups, by its first digits',
    option: 'fingerprint',
  },
};

/**
 * Declare the options that select tasks. Those that make no sense for the command are declared too, and refused with
 * the reason, unless the command has an option of its own by that name.
 */
export function declareFilter(
  command: Command,
  filtered: Filtered,
  own: readonly FilterName[] = [],
): Command {
  for (const name of FILTER_NAMES) {
    if (own.includes(name)) continue;
    const { flags, read } = OPTIONS[name];
    const option = new Option(flags, aboutOf(name, filtered));
    if (read !== undefined) option.argParser(collect);
    if (filtered.not[name] !== undefined) option.hideHelp();
    command.addOption(option);
  }
  return command;
}

function aboutOf(name: FilterName, { statuses }: Filtered): string {
  const { about } = OPTIONS[name];
  if (name === 'status') return `${about}: ${statuses.join(', ')}`;
  if (name === 'since')
    return `only tasks that ${happened(statuses)} since then: 2h, or 2030-01-31T09:00:00Z`;
  return name === 'before' ? `only tasks that ${happened(statuses)} before then` : about;
}

/** Which event the time filters refer to for these tasks. */
function happened(statuses: readonly TaskStatus[]): string {
  const areLive = statuses.includes('pending');
  if (statuses.includes('dead')) return areLive ? 'ended (live tasks: were created)' : 'died';
  return areLive ? 'were created' : 'ended';
}

/** Read the filter options: as given, unchecked. */
export function filterOf(options: FilterOptions, own: readonly FilterName[] = []): ListFilter {
  const given = FILTER_NAMES.filter((name) => !own.includes(name)).flatMap((name) => {
    const { option, read }: { option: keyof FilterOptions; read?: (value: never) => unknown } = OPTIONS[name];
    const value = options[option];
    return value === undefined ? [] : [[name, read === undefined ? value : read(value as never)]];
  });
  return Object.fromEntries(given);
}

/** The name of a filter as typed: `--by-hand`. */
export function flagOf(name: FilterName): string {
  return OPTIONS[name].flags.split(' ')[0]!;
}

/** The accepted filters: `--queue, --type`. */
export function filterFlags({ not }: Filtered): string {
  return FILTER_NAMES.filter((name) => not[name] === undefined)
    .map(flagOf)
    .join(', ');
}

/** The completions for the filter options. */
export function filterSuggestions({ statuses }: Filtered): Suggestions {
  return {
    status: statuses,
    priority: [...'0123456789', ...Object.keys(PRIORITY_NAMES)],
  };
}

/** Read `--tag k=v …`. Throws TaskqError (exit 2). */
export function parseTags(given: readonly string[]): Record<string, string> {
  return oneValueEach(
    given.map((tag) => {
      const at = tag.indexOf('=');
      if (at < 1) throw badOption(`--tag ${JSON.stringify(tag)}: expected name=value`);
      return [checkedName('tag', tag.slice(0, at)), tag.slice(at + 1)];
    }),
    twoValues('--tag '),
  );
}

/** Read `payload.order.id=42`, as many as given. Throws TaskqError (exit 2). */
function parseValues(given: readonly string[]): Record<string, string> {
  return oneValueEach(
    given.map((text) => {
      const [, path, value] = /^payload\.([^=]+)=(.*)$/s.exec(text) ?? [];
      if (path === undefined)
        throw badOption(
          `--where ${JSON.stringify(text)}: expected a path and a value, as in payload.order.id=42`,
        );
      return [path, value!];
    }),
    twoValues('--where payload.'),
  );
}

/** Refuses two values of one name: no task has both. */
function twoValues(flag: string) {
  return (name: string, before: string, value: string) =>
    badOption(
      `${flag}${name}: given as ${JSON.stringify(before)} and as ${JSON.stringify(value)}; a task has one`,
    );
}

/** Read the id of a task. Throws TaskqError (exit 2). */
export function parseId(text: string, what = 'id'): string {
  if (what === 'id' && /^(?!\d*$)[\da-f]{6,10}$/.test(text))
    throw badOption(
      `id ${JSON.stringify(text)}: expected the number of a task, such as 12`,
      `the digits of a group of dead letters go with --fingerprint: taskq dead show --fingerprint ${text}`,
    );
  return checkedTaskId(text, what);
}

/** Read `--limit`. Throws TaskqError (exit 2). */
export function parseLimit(text: string, most = 100_000): number {
  const limit = /^\d{1,10}$/.test(text) ? Number(text) : 0;
  if (limit >= 1 && limit <= most) return limit;
  throw badOption(`--limit ${JSON.stringify(text)}: expected a whole number from 1 to ${most}`);
}

/** Declare the options of a page: `--limit` and `--after`. */
export function declarePage(command: Command): Command {
  return command
    .option('--limit <n>', 'show at most n', '100')
    .option('--after <place>', 'show the next page; the previous page prints the value');
}

/** Read `--after`, which the previous page printed. Throws TaskqError (exit 2). */
export function parseAfter(text: string | undefined, { status }: TaskFilter): string | null {
  if (text === undefined) return null;
  if (status?.join() !== 'dead') return parseId(text, '--after');
  // A time of death and an id.
  if (/^-?\d{1,18}-\d{1,18}$/.test(text)) return text;
  throw badOption(`--after ${JSON.stringify(text)}: expected what the page before printed`);
}
