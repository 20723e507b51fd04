import type { Session } from '../queue/session.ts';
import { waitUntil } from '../queue/waiting.ts';

export interface Witness {
  readonly task_id: string;
  readonly event: 'begun' | 'done';
  readonly attempt: number;
  readonly pid: number;
}

/** What handlers testified over connections of their own, in order. */
export function witnesses(session: Session): Promise<Witness[]> {
  return session.rows('select task_id, event, attempt, pid from app.witness order by at');
}

/** The ids of the tasks that were done, in order, once for each time. */
export async function doneIds(session: Session): Promise<string[]> {
  return (await witnesses(session)).filter(({ event }) => event === 'done').map((witness) => witness.task_id);
}

/** Wait until this many attempts have begun. */
export function begun(session: Session, count: number): Promise<void> {
  const isSo = async () =>
    (await witnesses(session)).filter(({ event }) => event === 'begun').length >= count;
  return waitUntil(isSo, `${count} attempts have not begun`);
}

/** How many processes did something. */
export async function processes(session: Session): Promise<number> {
  return new Set((await witnesses(session)).map(({ pid }) => pid)).size;
}
