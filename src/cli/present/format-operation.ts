import type { OperationVerb } from '../../domain/operation.ts';
import { countOf, withCommas } from '../../lib/count.ts';
import { goesOn, type ListedOperation } from '../../queue/inspect/list-operations.ts';
import type { Paint, Screen } from '../run/output.ts';
import { printable } from './printable.ts';
import { formatTable } from './table.ts';
import { localTime, relativeTime } from './times.ts';

/** A table of operations; empty when there are none. */
export function formatOperations(operations: readonly ListedOperation[], screen: Screen): string {
  if (operations.length === 0) return '';
  return formatTable<ListedOperation>(
    [
      { title: 'ID', cell: ({ id }) => id, align: 'right' },
      { title: 'VERB', cell: ({ verb }) => verb },
      {
        title: 'STATE',
        cell: ({ state }) => state,
        paint: (text, { state }) => paintState(state, text, screen.paint),
      },
      {
        title: 'DONE',
        cell: (operation) => `${withCommas(operation.done)}/${matchedText(operation)}`,
        align: 'right',
      },
      { title: 'FAILED', cell: ({ failed }) => withCommas(failed), align: 'right', leaves: 3 },
      {
        title: 'DIED',
        // `+`: others had not ended when the operation ended.
        cell: ({ dead_again: died, not_ended: open }) =>
          died === null ? '-' : `${withCommas(died)}${open === 0 ? '' : '+'}`,
        align: 'right',
        leaves: 2,
      },
      { title: 'WHO', cell: ({ role, by }) => by ?? role, shrinksTo: 8, leaves: 1 },
      { title: 'STARTED', cell: ({ created_at: at }) => relativeTime(at, screen.now), leaves: 4 },
      { title: 'FILTER', cell: ({ filter }) => filterText(filter), shrinksTo: 12 },
    ],
    operations,
    screen,
  );
}

/** Everything about an operation, a line for each part. */
export function formatOperation(operation: ListedOperation, { paint }: Screen): string {
  const { id, verb, state, role, by, reason, rate, canary, stop_at: stopAt, settings } = operation;
  const limits = [
    ...(canary === null ? [] : [`${countOf(canary, 'task')} first`]),
    ...(rate === null ? [] : [`at most ${rate}`]),
    ...(stopAt === null ? [] : [`stops when more than ${stopAt}% died again`]),
  ];
  const rows: (readonly [string, string])[] = [
    ['filter', filterText(operation.filter)],
    ...(limits.length > 0 ? [['limits', limits.join(', ')] as const] : []),
    ...(Object.keys(settings).length > 0 ? [['settings', JSON.stringify(settings)] as const] : []),
    ['progress', progressText(operation)],
    ...(operation.stopped_because === null ? [] : [['because', operation.stopped_because] as const]),
    ...(operation.trouble === null ? [] : [['trouble', operation.trouble] as const]),
    ['started', `${localTime(operation.created_at)} by ${by === null ? role : `${by} (${role})`}`],
    ...(reason === null ? [] : [['reason', reason] as const]),
    ...(operation.ended_at === null ? [] : [['ended', localTime(operation.ended_at)] as const]),
  ];
  return [
    `operation ${id}  ${verb}  ${paintState(state, state, paint)}`,
    ...rows.map(([name, value]) => `  ${name.padEnd(10)}${printable(value)}`),
    ...failureLines(operation).map((line) => `  ${line}`),
  ].join('\n');
}

/** `revived 10 of 1,000 tasks, 2 failed`. */
export function progressText(operation: ListedOperation): string {
  const { verb, state, done, skipped, failed, matched, at_least: isMore } = operation;
  const { dead_again: died, not_ended: open } = operation;
  const others = state === 'completed' && !isMore ? matched - done - skipped - failed : 0;
  return [
    `${PAST[verb]} ${withCommas(done)} of ${matchedText(operation)} tasks`,
    ...(skipped > 0 ? [`${withCommas(skipped)} skipped`] : []),
    ...(failed > 0 ? [`${withCommas(failed)} failed`] : []),
    ...(died !== null && died > 0 ? [`${withCommas(died)} died again`] : []),
    ...(others > 0 ? [`${withCommas(others)} no longer matched`] : []),
    ...(state === 'canary' ? [`waiting for the first to end${awaitedText(operation)}`] : []),
    ...(state === 'completed' && open !== null && open > 0
      ? [`${withCommas(open)} of these had not ended yet`]
      : []),
  ].join(', ');
}

function awaitedText({ waits_for: ids }: ListedOperation): string {
  return ids === null || ids.length === 0 ? '' : ` (task${ids.length === 1 ? '' : 's'} ${ids.join(', ')})`;
}

/** The failed tasks with their errors, a line for each; at most a hundred. */
export function failureLines({ failures }: ListedOperation): string[] {
  return failures.map(({ id, answer, error }) =>
    printable(
      `task ${id} ${answer === 'key_held' ? 'failed: another task has its key' : `failed: ${error}`}`,
    ),
  );
}

const PAST: Readonly<Record<OperationVerb, string>> = {
  cancel: 'cancelled',
  retry: 'retried',
  edit: 'edited',
  revive: 'revived',
  rerun: 'ran again',
  discard: 'discarded',
  purge: 'purged',
};

function matchedText({ matched, at_least: isMore }: ListedOperation): string {
  return `${withCommas(matched)}${isMore ? '+' : ''}`;
}

/** Leave out what every filter has. */
function filterText({
  status: _,
  by_hand: byHand,
  before: __,
  ids,
  ...filter
}: ListedOperation['filter']): string {
  if (Array.isArray(ids)) return countOf(ids.length, 'named task');
  const shown = { ...filter, ...(byHand === true && { by_hand: true }) };
  return Object.keys(shown).length === 0 ? 'all' : JSON.stringify(shown);
}

function paintState(state: ListedOperation['state'], text: string, paint: Paint): string {
  if (goesOn({ state })) return paint.cyan(text);
  return state === 'completed' ? paint.green(text) : paint.red(text);
}
