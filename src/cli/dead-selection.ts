import type { Command } from 'commander';
import { checkedName } from '../domain/names.ts';
import type { TaskFilter } from '../queue/find-tasks.ts';
import { badOption, parseId } from './task-filter.ts';

export interface DeadSelectionOptions {
  readonly type?: string;
  readonly queue?: string;
  readonly all?: true;
}

/** Which dead letters are meant: those named, or all that fit. */
export type DeadSelection =
  | { readonly kind: 'ids'; readonly ids: readonly string[] }
  | { readonly kind: 'filter'; readonly filter: TaskFilter };

/** Declare the ways to say which dead letters are meant. */
export function declareDeadSelection(command: Command): Command {
  return command
    .argument('[ids...]', 'the numbers of the tasks')
    .option('--type <type>', 'all dead letters of this type')
    .option('--queue <queue>', 'all dead letters of this queue')
    .option('--all', 'all dead letters, but for those added by hand')
    .usage('[options] <id...> | --type <type> | --queue <queue> | --all');
}

/** Read them. Throws TaskqError (exit 2) unless exactly one way is used. */
export function deadSelection(ids: readonly string[], options: DeadSelectionOptions): DeadSelection {
  const { type, queue, all } = options;
  const isFiltered = type !== undefined || queue !== undefined || all === true;
  if (ids.length > 0 === isFiltered) {
    throw badOption('name the dead letters either by their ids or by --type, --queue or --all');
  }
  if (!isFiltered) return { kind: 'ids', ids: ids.map((id) => parseId(id)) };
  const filter: TaskFilter = {
    status: ['dead'],
    ...(type !== undefined && { type: checkedName('type', type) }),
    ...(queue !== undefined && { queue: checkedName('queue', queue) }),
    ...(all === true && { by_hand: false }),
  };
  return { kind: 'filter', filter };
}
