import type { useDatabase } from './session.ts';
import { waitUntil } from './waiting.ts';

/** Listens to a channel in a session of its own. */
export async function listenTo(queue: ReturnType<typeof useDatabase>, channel: string) {
  // Past a pooler: behind one, nothing arrives.
  const session = await queue.directSession();
  const received: string[] = [];
  session.client.on('notification', ({ payload = '' }) => received.push(payload));
  await session.rows(`listen ${channel}`);
  return {
    received,
    /** Waits until something was received. */
    untilReceived: () => waitUntil(async () => received.length > 0, `nothing was received on ${channel}`),
  };
}
