import type { ListedType } from '../../queue/inspect/list-types.ts';
import type { Screen } from '../run/output.ts';
import { waitingText } from './count.ts';
import { attemptsText, backoffText, breakerText, durationText } from './settings-text.ts';
import { formatTable } from './table.ts';
import { relativeTime } from './times.ts';

/** A table of types; empty when there are none. */
export function formatTypes(types: readonly ListedType[], screen: Screen): string {
  if (types.length === 0) return '';
  return formatTable<ListedType>(
    [
      { title: 'TYPE', cell: ({ name }) => name, shrinksTo: 20 },
      {
        title: 'WAITING',
        cell: waitingText,
        align: 'right',
      },
      {
        title: 'HANDLED BY',
        leaves: 7,
        cell: ({ workers }) => handlersOf(workers),
        shrinksTo: 10,
        paint: (text, { workers, waiting }) =>
          workers.length === 0 && waiting ? screen.paint.yellow(text) : text,
      },
      {
        title: 'ATTEMPTS',
        leaves: 6,
        cell: ({ max_attempts }) => attemptsText(max_attempts),
        align: 'right',
      },
      { title: 'TIMEOUT', leaves: 5, cell: ({ timeout_ms }) => durationText(timeout_ms), align: 'right' },
      { title: 'EXPIRES', leaves: 3, cell: ({ expires_ms }) => durationText(expires_ms), align: 'right' },
      { title: 'BACK-OFF', leaves: 3, cell: ({ backoff }) => backoffText(backoff), shrinksTo: 20 },
      {
        title: 'BREAKER',
        leaves: 7,
        cell: (type) => breakerOf(type, screen.now),
        shrinksTo: 8,
        paint: (text, { breaker_opened_at: openedAt }) => (openedAt === null ? text : screen.paint.red(text)),
      },
      { title: 'FAILURE', leaves: 1, cell: ({ on_failure }) => on_failure ?? '-' },
      { title: 'LOG', leaves: 2, cell: ({ keep_log }) => keep_log ?? '-' },
      { title: 'THEN', leaves: 0, cell: callbacksOf, shrinksTo: 8 },
      { title: 'QUEUE', leaves: 4, cell: ({ queue }) => queue ?? '-', shrinksTo: 8 },
      { title: 'PRIORITY', leaves: 4, cell: ({ priority }) => String(priority ?? '-'), align: 'right' },
      { title: 'RETENTION', leaves: 4, cell: ({ retention }) => retention ?? '-' },
      {
        title: 'FIRST SEEN',
        leaves: 1,
        cell: ({ first_seen_at }) => relativeTime(first_seen_at, screen.now),
      },
      { title: 'LAST SEEN', leaves: 2, cell: (type) => lastSeen(type, screen.now) },
    ],
    types,
    screen,
  );
}

/** The setting or, if the breaker is open, since when and what closes it. */
function breakerOf({ breaker, ...open }: ListedType, now: number): string {
  const { breaker_opened_at: openedAt, breaker_probe_at: probeAt, breaker_probe_id: probe } = open;
  if (openedAt === null) return breakerText(breaker);
  const since = `open since ${relativeTime(openedAt, now)}`;
  if (probe !== null) return `${since}, task ${probe} tries it`;
  return probeAt === null ? `${since}, until resumed` : `${since}, probe ${relativeTime(probeAt, now)}`;
}

/** What follows its tasks, such as `report, dead: page-someone`. */
function callbacksOf({ on_complete, on_dead }: ListedType): string {
  const set = [on_complete?.type, on_dead === null ? undefined : `dead: ${on_dead.type}`];
  return set.filter((text) => text !== undefined).join(', ') || '-';
}

function handlersOf(workers: readonly string[]): string {
  const [first, ...others] = workers;
  if (first === undefined) return 'no worker';
  return others.length === 0 ? first : `${first} and ${others.length} more`;
}

function lastSeen({ last_seen_at, workers }: ListedType, now: number): string {
  if (workers.length > 0) return 'now';
  return last_seen_at === null ? 'never' : relativeTime(last_seen_at, now);
}
