import type { ListedQueue } from '../../queue/inspect/list-queues.ts';
import { printable } from './printable.ts';
import { localTime, relativeTime, roughly } from './times.ts';

/** Say who paused a queue, until when, and why: `paused 3m ago by ann@host, for 2h more (…): deploy`. */
export function pauseText(queue: ListedQueue, now: number): string {
  const { paused_at, paused_until, paused_by, pause_reason } = queue;
  const by = paused_by === null ? '' : ` by ${paused_by}`;
  const until =
    paused_until === null
      ? 'until it is resumed'
      : `for ${roughly(Math.max(0, Date.parse(paused_until) - now + 999))} more (${localTime(paused_until)})`;
  const why = pause_reason === null ? '' : `: ${pause_reason}`;
  return printable(`paused ${relativeTime(paused_at, now)}${by}, ${until}${why}`);
}
