import type { ListedToken } from '../../queue/inspect/list-tokens.ts';
import type { Screen } from '../run/output.ts';
import { formatTable } from './table.ts';
import { relativeTime } from './times.ts';

/** A table of tokens; empty when there are none. */
export function formatTokens(tokens: readonly ListedToken[], screen: Screen): string {
  if (tokens.length === 0) return '';
  return formatTable<ListedToken>(
    [
      { title: 'TOKEN', cell: ({ name }) => name, shrinksTo: 20 },
      { title: 'ROLE', cell: ({ role }) => role },
      { title: 'QUEUES', cell: ({ queues }) => queues?.join(', ') ?? 'all', shrinksTo: 10 },
      { title: 'CREATED', cell: ({ created_at }) => relativeTime(created_at, screen.now) },
      { title: 'BY', cell: ({ created_by }) => created_by, shrinksTo: 8 },
      { title: 'USED', cell: ({ last_used_at }) => relativeTime(last_used_at, screen.now) || 'never' },
      { title: 'EXPIRES', cell: ({ expires_at }) => relativeTime(expires_at, screen.now) || 'never' },
    ],
    tokens,
    screen,
  );
}
