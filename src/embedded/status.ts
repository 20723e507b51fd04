import { layoutOf } from './layout.ts';
import type { EmbeddedOptions, EmbeddedServer } from './server.ts';
import { waitForServer } from './wait-for-server.ts';

/** Returns this user's running server, after waiting for one that starts or recovers; undefined if none runs. */
export async function embeddedStatus(options: EmbeddedOptions = {}): Promise<EmbeddedServer | undefined> {
  return waitForServer(layoutOf(options.stateDir));
}
