import { setTimeout as sleep } from 'node:timers/promises';
import { TaskqError } from '../lib/errors.ts';
import type { Layout } from './layout.ts';
import { probe } from './probe.ts';
import { startOfProcess } from './processes.ts';
import type { EmbeddedServer } from './server.ts';

/** Recovery reads little more than `max_wal_size` of log; this allows for a slow disk. */
const LIMIT_MS = 120_000;

/**
 * Waits until the server on this socket accepts connections. Returns undefined if there is none: the socket refuses and
 * process `pid`, if given, has ended. Throws TaskqError if it neither accepts connections nor ends.
 */
export async function waitForServer(layout: Layout, pid?: number): Promise<EmbeddedServer | undefined> {
  const deadline = performance.now() + LIMIT_MS;
  for (;;) {
    // Checked before the socket: a server that ends in between has already refused us.
    const alive = pid !== undefined && (await startOfProcess(pid)) !== undefined;
    const found = await probe(layout);
    if (typeof found === 'object') return found;
    if (found === 'absent' && !alive) return undefined;
    if (performance.now() > deadline) throw noAnswer(layout, pid);
    await sleep(10);
  }
}

function noAnswer(layout: Layout, pid: number | undefined): TaskqError {
  const which = pid === undefined ? 'The local database' : `The local database, process ${pid},`;
  return new TaskqError('embedded_no_answer', `${which} does not accept connections on ${layout.socket}`, {
    hint: `See ${layout.logFile}; taskq db stop ends it`,
  });
}
