import type { GroupStop, ListedGroup } from '../../queue/inspect/list-groups.ts';
import type { Screen } from '../run/output.ts';
import { pauseText } from './pause-text.ts';
import { rateText } from './settings-text.ts';
import { formatTable } from './table.ts';
import { localTime } from './times.ts';

/** A table of groups; empty when there are none. */
export function formatGroups(groups: readonly ListedGroup[], screen: Screen): string {
  if (groups.length === 0) return '';
  return formatTable<ListedGroup>(
    [
      { title: 'GROUP', cell: ({ name }) => name, shrinksTo: 10 },
      { title: 'SLOTS', cell: ({ slots }) => (slots === null ? '-' : String(slots)), align: 'right' },
      { title: 'RATE', leaves: 4, cell: ({ rate, burst }) => rateText(rate, burst) ?? '-' },
      { title: 'HOLDING', leaves: 3, cell: ({ holding }) => String(holding), align: 'right' },
      { title: 'WAITING', leaves: 2, cell: ({ waiting }) => String(waiting), align: 'right' },
      { title: 'DELAYED', leaves: 1, cell: ({ delayed }) => String(delayed), align: 'right' },
      {
        title: 'STOPPED',
        leaves: 5,
        shrinksTo: 10,
        cell: ({ stops }) => stops.map((stop) => stopText(stop, screen.now)).join('; ') || '-',
        paint: (text, { stops }) => (stops.length === 0 ? text : screen.paint.yellow(text)),
      },
    ],
    groups,
    screen,
  );
}

function stopText(stop: GroupStop<string>, now: number): string {
  if (stop.cause === 'group_paused')
    return pauseText(
      { paused_at: stop.since, paused_until: null, paused_by: stop.by, pause_reason: stop.reason },
      now,
    );
  return 'dead_task' in stop
    ? `at dead letter ${stop.dead_task}`
    : `by task ${stop.snoozed_by} until ${localTime(stop.until)}`;
}
