import type { ListedQueue } from '../../queue/inspect/list-queues.ts';
import { printable } from './printable.ts';
import { localTime, relativeTime, roughly } from './times.ts';

type Pause = Pick<ListedQueue, 'paused_at' | 'paused_until' | 'paused_by' | 'pause_reason'>;

/**
 * Describe who paused a queue, until when, and why: `paused until 2030-01-31 09:00:00 (2h) by ann@host, 3m ago:
 * deploy`.
 */
export function pauseText({ paused_at, paused_until, paused_by, pause_reason }: Pause, now: number): string {
  const by = paused_by === null ? '' : ` by ${paused_by}`;
  const who = `${by}, ${relativeTime(paused_at, now)}`;
  const why = pause_reason === null ? '' : `: ${pause_reason}`;
  if (paused_until === null) return printable(`paused${who}, until it is resumed${why}`);
  const left = roughly(Math.max(0, Date.parse(paused_until) - now + 999));
  return printable(`paused until ${localTime(paused_until)} (${left})${who}${why}`);
}
