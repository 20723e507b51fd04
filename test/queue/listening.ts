import type { useDatabase } from './session.ts';
import { waitUntil } from './waiting.ts';

/** Hears a channel in a session of its own. */
export async function listenTo(queue: ReturnType<typeof useDatabase>, channel: string) {
  // Past a pooler: what is behind one hears nothing.
  const session = await queue.directSession();
  const told: string[] = [];
  session.client.on('notification', ({ payload = '' }) => told.push(payload));
  await session.rows(`listen ${channel}`);
  return {
    told,
    /** Waits until something was told. */
    heard: () => waitUntil(async () => told.length > 0, `nothing was told on ${channel}`),
  };
}
