import { withCommas } from '../../lib/count.ts';
import type { DeadGroup } from '../../queue/inspect/list-dead-groups.ts';
import type { Screen } from '../run/output.ts';
import { formatTable } from './table.ts';
import { relativeTime } from './times.ts';

/** A table of groups of dead letters; empty when there are none. */
export function formatDeadGroups(groups: readonly DeadGroup[], screen: Screen): string {
  if (groups.length === 0) return '';
  return formatTable<DeadGroup>(
    [
      { title: 'FINGERPRINT', cell: ({ fingerprint }) => fingerprint },
      { title: 'DEAD', cell: ({ count }) => withCommas(count), align: 'right' },
      { title: 'TYPE', cell: ({ type }) => type, shrinksTo: 12 },
      { title: 'ERROR', cell: ({ error_name: name, reason }) => name ?? reason, shrinksTo: 12 },
      { title: 'MESSAGE', cell: ({ message }) => (message ?? '').slice(0, 200), shrinksTo: 16 },
      { title: 'TREND', leaves: 2, cell: trendOf },
      { title: 'FIRST', leaves: 1, cell: ({ first_at: at }) => relativeTime(at, screen.now) },
      { title: 'LAST', leaves: 3, cell: ({ last_at: at }) => relativeTime(at, screen.now) },
    ],
    groups,
    screen,
  );
}

/** `3 → 12`: how many died in the hour before the last, and in the last. */
function trendOf({ hour_before: before, last_hour: last }: DeadGroup): string {
  return before + last === 0 ? '' : `${withCommas(before)} → ${withCommas(last)} an hour`;
}
