import { setTimeout as sleep } from 'node:timers/promises';
import type { Session } from './session.ts';

/** Waits until another session's statement waits for a lock; fails after 10 s. */
export async function waitUntilBlocked(observer: Session, blocked: Session): Promise<void> {
  const pid = (blocked.client as unknown as { processID: number }).processID;
  const waits = () =>
    observer.value<boolean>(
      "select exists (select from pg_stat_activity where pid = $1 and wait_event_type = 'Lock')",
      pid,
    );
  await waitUntil(waits, 'the session does not wait for a lock');
}

/** Asks every few milliseconds until it is so; fails with `why` after 10 s. */
export async function waitUntil(isSo: () => Promise<boolean>, why: string): Promise<void> {
  const end = performance.now() + 10_000;
  while (!(await isSo())) {
    if (performance.now() > end) throw new Error(why);
    await sleep(5);
  }
}
