import type { Command } from 'commander';
import { TASK_STATUSES } from '../domain/task.ts';
import type { TaskFilter } from '../queue/find-tasks.ts';
import {
  badOption,
  type Choice,
  declareFilter,
  type FilterOptions,
  filterFlags,
  filterOf,
  parseId,
} from './task-filter.ts';

export interface SelectionOptions extends FilterOptions {
  readonly all?: true;
}

/** Which tasks are meant: those named, or all that fit. */
export type TaskSelection =
  | { readonly kind: 'ids'; readonly ids: readonly string[] }
  | { readonly kind: 'filter'; readonly filter: TaskFilter };

export const ALL_TASKS: Choice = {
  statuses: TASK_STATUSES,
  by: ['status', 'failed', 'type', 'queue', 'tag', 'reason', 'key', 'priority', 'since', 'byHand'],
};

export const LIVE_TASKS: Choice = {
  statuses: ['blocked', 'pending', 'leased', 'running'],
  by: ['status', 'failed', 'type', 'queue', 'tag', 'key', 'priority', 'since'],
};

export const WAITING_TASKS: Choice = {
  statuses: ['pending'],
  by: ['failed', 'type', 'queue', 'tag', 'key', 'priority', 'since'],
};

export const FINISHED_TASKS: Choice = {
  statuses: ['completed', 'cancelled', 'expired'],
  by: ['status', 'type', 'queue', 'tag', 'reason', 'key', 'priority', 'since'],
};

export const DEAD_LETTERS: Choice = {
  statuses: ['dead'],
  by: ['type', 'queue', 'tag', 'reason', 'key', 'priority', 'since', 'byHand'],
};

/** Declare the ways to say which tasks a verb is for. */
export function declareSelection(command: Command, choice: Choice): Command {
  const isDead = choice === DEAD_LETTERS;
  command.argument('[ids...]', 'the numbers of the tasks');
  return declareFilter(command, choice)
    .option('--all', isDead ? 'all dead letters except those put away by hand' : 'all of them')
    .usage('[options] <id...> | <filter> | --all')
    .addHelpText(
      'after',
      `
A filter is one or more of ${filterFlags(choice)}: all tasks that fit every one.${
        isDead ? ' Without\n--by-hand, a filter leaves out what was put away by hand.' : ''
      }`,
    );
}

/** Read them. Throws TaskqError (exit 2) unless either ids or a filter are given. */
export function selectionOf(
  ids: readonly string[],
  options: SelectionOptions,
  choice: Choice,
): TaskSelection {
  const given = filterOf(options, choice);
  const isFiltered = Object.keys(given).length > 0 || options.all === true;
  if (ids.length > 0 === isFiltered) {
    throw badOption(`name the tasks either by their ids or by ${filterFlags(choice)} or --all`);
  }
  if (!isFiltered) return { kind: 'ids', ids: ids.map((id) => parseId(id)) };
  const spared: TaskFilter = choice === DEAD_LETTERS ? { by_hand: false } : {};
  return { kind: 'filter', filter: { status: choice.statuses, ...spared, ...given } };
}
