import { setTimeout as sleep } from 'node:timers/promises';
import type { Queryable } from '../lib/database.ts';
import { type GivenBack, giveBack } from '../queue/give-back.ts';

/**
 * Give tasks back, asking again for what another transaction has locked: after 50 ms, doubling to 1 s, for at most
 * `patienceMs`. Returns what could not be given back by then; it is left to its lease. Throws what the database says.
 */
export async function giveBackAll(
  db: Queryable,
  tasks: readonly GivenBack[],
  patienceMs: number,
): Promise<readonly GivenBack[]> {
  const until = performance.now() + patienceMs;
  let left = tasks;
  for (let pauseMs = 50; left.length > 0; pauseMs = Math.min(1000, 2 * pauseMs)) {
    const answers = await giveBack(db, left);
    const busy = new Set(answers.filter(({ answer }) => answer === 'busy').map(({ id }) => id));
    left = left.filter(({ id }) => busy.has(id));
    if (left.length === 0 || performance.now() + pauseMs > until) break;
    await sleep(pauseMs);
  }
  return left;
}
