import type { Command } from 'commander';
import { badOption } from '../../lib/bad-option.ts';
import {
  type BulkVerb,
  bulkFilter,
  FILTERED,
  type Filtered,
  type FilterName,
  type TaskFilter,
} from '../../queue/inspect/task-filter.ts';
import type { NewOperation } from '../../queue/operate/operations.ts';
import {
  declareFilter,
  type FilterOptions,
  filterFlags,
  filterOf,
  flagOf,
  parseId,
  parseLimit,
} from './task-filter.ts';

export interface SelectionOptions extends FilterOptions {
  readonly all?: true;
  readonly limit?: string;
}

/** The selected tasks: those named, or all that fit, up to a limit. */
export type TaskSelection =
  | { readonly kind: 'ids'; readonly ids: readonly string[] }
  | { readonly kind: 'filter'; readonly filter: TaskFilter; readonly limit: number | undefined };

/** The selection as the filter of an operation, which has no limit. */
export function operationFilterOf(selection: TaskSelection): NewOperation['filter'] {
  return selection.kind === 'ids' ? { ids: selection.ids } : selection.filter;
}

/** Filters whose names the verb uses for another option. */
const OWN: { readonly [Verb in BulkVerb]?: readonly FilterName[] } = { cancel: ['reason'] };

/** Declare the ways to select the tasks of a verb. */
export function declareSelection(command: Command, verb: BulkVerb): Command {
  const filtered: Filtered = FILTERED[verb];
  const isDead = filtered.statuses.includes('dead');
  command.argument('[ids...]', 'ids of the tasks');
  return declareFilter(command, filtered, OWN[verb])
    .option(
      '--all',
      isDead ? 'all dead letters except those added by hand' : 'all tasks the command applies to',
    )
    .option('--limit <n>', `only the n ${isDead ? 'most recent' : 'newest'} tasks that match`)
    .usage('[options] <id...> | <filter> | --all')
    .addHelpText(
      'after',
      `
A filter is one or more of ${filterFlags(filtered)}.
It selects the tasks that match all of them.${
        isDead ? ' Dead letters added by hand are left out unless --by-hand is given.' : ''
      }`,
    );
}

/** Read the selection. Throws TaskqError (exit 2) unless either ids or a filter are given. */
export function selectionOf(
  ids: readonly string[],
  options: SelectionOptions,
  verb: BulkVerb,
): TaskSelection {
  const filtered: Filtered = FILTERED[verb];
  const given = filterOf(options, OWN[verb]);
  const filter = bulkFilter(given, filtered, flagOf);
  const isFiltered = Object.keys(given).length > 0 || options.all === true;
  if (ids.length > 0 === isFiltered) {
    throw badOption(`give either ids of tasks or a filter: ${filterFlags(filtered)} or --all`);
  }
  if (isFiltered) {
    const limit = options.limit === undefined ? undefined : parseLimit(options.limit, MOST);
    return { kind: 'filter', filter, limit };
  }
  if (options.limit !== undefined) throw badOption('--limit needs a filter or --all');
  return { kind: 'ids', ids: ids.map((id) => parseId(id)) };
}

const MOST = 1_000_000_000;
