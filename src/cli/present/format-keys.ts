import type { HeldKey, ListedKey } from '../../queue/operate/keys.ts';
import type { Output, Screen } from '../run/output.ts';
import { printable } from './printable.ts';
import { formatTable } from './table.ts';
import { localTime } from './times.ts';

/** A table of held keys; empty when there are none. */
export function formatKeys(keys: readonly ListedKey[], screen: Screen): string {
  if (keys.length === 0) return '';
  return formatTable<ListedKey>(
    [
      { title: 'KEY', cell: ({ key }) => key, shrinksTo: 10 },
      { title: 'QUEUE', cell: ({ queue }) => queue, shrinksTo: 8 },
      { title: 'UNTIL', cell: ({ until }) => (until === null ? 'ever' : localTime(until)) },
      { title: 'TASK', cell: ({ task_id }) => task_id },
      { title: 'STATUS', cell: ({ status }) => status ?? 'gone' },
    ],
    keys,
    screen,
  );
}

/** List the keys that deleted tasks still hold, and how to free them. */
export function reportHeldKeys(
  { format, talk }: Output,
  answers: readonly { readonly id: string; readonly held_key: HeldKey | null }[],
): void {
  if (format === 'json') return;
  for (const { id, held_key: held } of answers) {
    if (held === null) continue;
    const until = held.until === null ? 'forever' : `until ${localTime(held.until)}`;
    const key = printable(JSON.stringify(held.key));
    talk(
      `task ${id} still holds its key ${key} ${until}: taskq keys release --queue ${printable(held.queue)} ${key}`,
    );
  }
}
