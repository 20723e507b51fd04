import type { ListedQueue } from '../../queue/inspect/list-queues.ts';
import type { Screen } from '../run/output.ts';
import { waitingText } from './count.ts';
import { pauseText } from './pause-text.ts';
import { attemptsText, backoffText, durationText, rateText } from './settings-text.ts';
import { formatTable } from './table.ts';

/** A table of queues; empty when there are none. */
export function formatQueues(queues: readonly ListedQueue[], screen: Screen): string {
  if (queues.length === 0) return '';
  return formatTable<ListedQueue>(
    [
      { title: 'QUEUE', cell: ({ name }) => name, shrinksTo: 10 },
      { title: 'WAITING', cell: waitingText, align: 'right' },
      {
        title: 'ATTEMPTS',
        leaves: 7,
        cell: ({ max_attempts }) => attemptsText(max_attempts),
        align: 'right',
      },
      { title: 'TIMEOUT', leaves: 6, cell: ({ timeout_ms }) => durationText(timeout_ms), align: 'right' },
      { title: 'EXPIRES', leaves: 3, cell: ({ expires_ms }) => durationText(expires_ms), align: 'right' },
      { title: 'BACK-OFF', leaves: 4, cell: ({ backoff }) => backoffText(backoff), shrinksTo: 8 },
      { title: 'RETENTION', leaves: 5, cell: ({ retention }) => retention ?? '-' },
      { title: 'ERRORS', leaves: 1, cell: ({ errors_retention }) => errors_retention ?? '-' },
      { title: 'DEAD', leaves: 2, cell: ({ dead_retention }) => dead_retention ?? '-' },
      { title: 'LIMITS', leaves: 9, cell: limitsText, shrinksTo: 6 },
      { title: 'GROUPS', leaves: 0, cell: groupsText, shrinksTo: 6 },
      {
        title: 'ENQUEUES',
        leaves: 0,
        cell: ({ may_enqueue }) => (may_enqueue === null ? '-' : may_enqueue.join(', ') || 'none'),
        shrinksTo: 8,
      },
      { title: 'FAILURE', leaves: 0, cell: ({ on_failure }) => on_failure ?? '-' },
      { title: 'LEASES', leaves: 0, cell: leasesText, shrinksTo: 6 },
      { title: 'EVENTS', leaves: 0, cell: ({ record_events }) => recordedText(record_events) ?? '-' },
      {
        title: 'PAUSE',
        leaves: 8,
        shrinksTo: 10,
        cell: (queue) => (queue.paused_at === null ? '-' : pauseText(queue, screen.now)),
        paint: (text, { paused_at }) => (paused_at === null ? text : screen.paint.yellow(text)),
      },
    ],
    queues,
    screen,
  );
}

/** The queue's settings for groups, such as `1, hold`. */
function groupsText(queue: ListedQueue): string {
  const { group_limit, group_rate, group_burst, group_order, group_on_dead, group_by } = queue;
  const set = [
    group_limit,
    rateText(group_rate, group_burst),
    group_order,
    group_on_dead,
    group_by === null ? null : group_by === 'none' ? 'not by type' : 'by type',
  ];
  return set.filter((setting) => setting !== null).join(', ') || '-';
}

/** How many workers a task may lose, and whether claims are recorded, such as `unlimited losses, recorded`. */
function leasesText({ max_losses, record_leases }: ListedQueue): string {
  const set = [
    max_losses === null ? null : `${attemptsText(max_losses)} losses`,
    recordedText(record_leases),
  ];
  return set.filter((setting) => setting !== null).join(', ') || '-';
}

function recordedText(isRecorded: boolean | null): string | null {
  return isRecorded === null ? null : isRecorded ? 'recorded' : 'not recorded';
}

/** How many tasks of the queue run at once, and at what rate they start, such as `4, 100/1m + 20`. */
function limitsText({ max_running, rate, burst }: ListedQueue): string {
  const limits = [max_running, rateText(rate, burst)];
  return limits.filter((limit) => limit !== null).join(', ') || '-';
}
