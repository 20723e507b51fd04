import { setTimeout as sleep } from 'node:timers/promises';
import type { Session } from './session.ts';

/** Waits until this many other sessions wait for locks; fails after two minutes. */
export async function waitUntilBlocked(observer: Session, sessions = 1): Promise<void> {
  const waits = () =>
    observer.value<boolean>(
      `select count(*) >= $1 from pg_stat_activity
       where datname = current_database() and wait_event_type = 'Lock'`,
      sessions,
    );
  await waitUntil(waits, 'no session waits for a lock');
}

/** Lets these functions, which give up on a lock after a second, wait for it until `work` has ended: it may take longer. */
export async function patiently<T>(
  admin: Session,
  functions: readonly string[],
  work: () => Promise<T>,
): Promise<T> {
  const setLimit = async (limit: string) => {
    for (const name of functions)
      await admin.rows(`alter function taskq.${name} set lock_timeout = '${limit}'`);
  };
  await setLimit('100s');
  try {
    return await work();
  } finally {
    await setLimit('1s');
  }
}

/** Asks every few milliseconds until it is so; fails with `why` after two minutes. */
export async function waitUntil(isSo: () => Promise<boolean>, why: string): Promise<void> {
  const end = performance.now() + 120_000;
  while (!(await isSo())) {
    if (performance.now() > end) throw new Error(why);
    await sleep(20);
  }
}
