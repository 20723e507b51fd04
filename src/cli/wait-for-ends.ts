import { EndWatch, type Waited } from '../queue/end-watch.ts';
import type { Context } from './context.ts';

/**
 * Wait until these tasks have ended, for at most `limitMs` or until the user ends it. `onEnd` is told of each as it
 * ends. Returns how each wait ended, by id.
 */
export async function waitForEnds(
  context: Context,
  ids: readonly string[],
  limitMs: number,
  onEnd: (stillWaiting: number) => void = () => {},
): Promise<ReadonlyMap<string, Waited>> {
  const { directUrl } = await context.chosenDatabase();
  const watch = new EndWatch({
    db: await context.database(),
    connection: directUrl,
    applicationName: 'taskq waiting',
  });
  const waited = new Map<string, Waited>();
  const wait = async (id: string): Promise<void> => {
    waited.set(id, await watch.wait(id, { timeoutMs: limitMs }));
    onEnd(ids.length - waited.size);
  };
  try {
    await Promise.all(ids.map(wait));
    return waited;
  } finally {
    await watch.close(new Error('nobody waits any more'));
  }
}
