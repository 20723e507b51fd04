import { Bell } from '../../lib/bell.ts';
import { isPassing } from '../../lib/database.ts';
import { openListener } from '../../lib/listener.ts';
import { getEnds, type TaskEnd } from '../../queue/get-ends.ts';
import type { Context } from '../context.ts';

/** How a wait ended: with the task, with the deadline, or because nothing is known of the task any more. */
export type Waited =
  | { readonly kind: 'ended'; readonly end: TaskEnd }
  | { readonly kind: 'deadline' }
  | { readonly kind: 'gone' };

const FIRST_POLL_MS = 50;
const LAST_POLL_MS = 1000;
/** A database that has not answered for so long is an error. */
const OUTAGE_MS = 60_000;

/** Wait until a task has ended, for at most `limitMs`. Listens, and polls beside it: a notification may be lost. */
export async function waitForEnd(context: Context, id: string, limitMs: number): Promise<Waited> {
  const db = await context.database();
  const { directUrl } = await context.chosenDatabase();
  const until = performance.now() + limitMs;
  const bell = new Bell();
  const listening = openListener({
    databaseUrl: directUrl,
    applicationName: 'taskq enqueue --wait',
    channels: ['taskq_done'],
    onNotification: (_, done) => {
      if (done === id) bell.ring();
    },
    deadlineMs: 10_000,
  }).catch(() => undefined); // polling alone is correct
  try {
    let answeredAt = performance.now();
    for (let pollMs = FIRST_POLL_MS; ; pollMs = Math.min(2 * pollMs, LAST_POLL_MS)) {
      const ends = await getEnds(db, [id]).catch((error: unknown) => {
        // A restart of the database is no reason to give up a task that may still be completed.
        if (!isPassing(error) || performance.now() - answeredAt > OUTAGE_MS) throw error;
        return undefined;
      });
      if (ends !== undefined) {
        answeredAt = performance.now();
        const [end] = ends;
        if (end === undefined) return { kind: 'gone' };
        if (!end.live) return { kind: 'ended', end };
      }
      const leftMs = until - performance.now();
      if (leftMs <= 0) return { kind: 'deadline' };
      await bell.wait(Math.min(pollMs, leftMs), context.signal);
    }
  } finally {
    void listening.then((listener) => listener?.close()).catch(() => {});
  }
}
