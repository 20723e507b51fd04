import type { ListedGroup } from '../../queue/inspect/list-groups.ts';
import type { Screen } from '../run/output.ts';
import { pauseText } from './pause-text.ts';
import { rateText } from './settings-text.ts';
import { formatTable } from './table.ts';

/** A table of groups; empty when there are none. */
export function formatGroups(groups: readonly ListedGroup[], screen: Screen): string {
  if (groups.length === 0) return '';
  return formatTable<ListedGroup>(
    [
      { title: 'GROUP', cell: ({ name }) => name, shrinksTo: 10 },
      { title: 'LIMIT', cell: ({ slots }) => (slots === null ? '-' : String(slots)), align: 'right' },
      { title: 'RATE', leaves: 4, cell: ({ rate, burst }) => rateText(rate, burst) ?? '-' },
      { title: 'HOLDING', leaves: 3, cell: ({ holding }) => String(holding), align: 'right' },
      { title: 'WAITING', leaves: 2, cell: ({ waiting }) => String(waiting), align: 'right' },
      { title: 'DELAYED', leaves: 1, cell: ({ delayed }) => String(delayed), align: 'right' },
      {
        title: 'PAUSE',
        leaves: 5,
        shrinksTo: 10,
        cell: ({ paused_at, paused_by, pause_reason }) =>
          paused_at === null
            ? '-'
            : pauseText({ paused_at, paused_until: null, paused_by, pause_reason }, screen.now),
        paint: (text, { paused_at }) => (paused_at === null ? text : screen.paint.yellow(text)),
      },
    ],
    groups,
    screen,
  );
}
