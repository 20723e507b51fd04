import { type EndSource, EndWaiter, TASK_ENDS, type Waited } from '../../queue/protocol/end-waiter.ts';
import type { Context } from '../run/context.ts';

/**
 * Wait until these tasks have ended, for at most `limitMs` or until the user interrupts. Calls `onEnd` for each as it
 * ends. Returns how each wait ended, by id.
 */
export async function waitForEnds(
  context: Context,
  ids: readonly string[],
  limitMs: number,
  onEnd: (stillWaiting: number) => void = () => {},
): Promise<ReadonlyMap<string, Waited>> {
  const waiter = await openWaiter(context, TASK_ENDS);
  const waited = new Map<string, Waited>();
  let stillWaiting = ids.length;
  const wait = async (id: string): Promise<void> => {
    const end = await waiter.wait(id, { timeoutMs: limitMs });
    waited.set(id, end);
    // A task that still runs at the deadline has not ended.
    if (end.kind === 'deadline') return;
    stillWaiting -= 1;
    onEnd(stillWaiting);
  };
  try {
    await Promise.all(ids.map(wait));
    return waited;
  } finally {
    await waiter.close(new Error('the wait is over'));
  }
}

/** Open a waiter for the ends of tasks or workflows. The caller closes it. */
export async function openWaiter<End extends { readonly id: string; readonly live: boolean }>(
  context: Context,
  source: EndSource<End>,
): Promise<EndWaiter<End>> {
  const { directUrl } = await context.chosenDatabase();
  const db = await context.database();
  return new EndWaiter({ db, source, connection: directUrl, applicationName: 'taskq waiting' });
}
