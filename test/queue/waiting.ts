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

/** Lets these functions, which give up on a lock after a second or less, wait for it until `work` has ended: it may take longer. */
export async function patiently<T>(
  admin: Session,
  functions: readonly string[],
  work: () => Promise<T>,
): Promise<T> {
  const limits = await admin.rows<{ name: string; limit: string }>(
    `select p.proname as name, split_part(c.setting, '=', 2) as limit
     from pg_proc p cross join unnest(p.proconfig) as c (setting)
     where p.pronamespace = 'taskq'::regnamespace and p.proname = any ($1) and c.setting like 'lock_timeout=%'`,
    functions,
  );
  const setLimit = (name: string, limit: string) =>
    admin.rows(`alter function taskq.${name} set lock_timeout = '${limit}'`);
  for (const name of functions) await setLimit(name, '100s');
  try {
    return await work();
  } finally {
    for (const { name, limit } of limits) await setLimit(name, limit);
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
