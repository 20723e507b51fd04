import type { EmbeddedServer } from '../../src/embedded/server.ts';
import { connectClient } from '../../src/lib/connect.ts';

/** Runs one statement on a connection of its own and returns its rows. */
export async function query(
  server: EmbeddedServer,
  statement: string,
  database = 'postgres',
): Promise<readonly Record<string, unknown>[]> {
  const client = await connectClient({ connectionString: server.url(database) });
  try {
    return (await client.query<Record<string, unknown>>(statement)).rows;
  } finally {
    await client.end();
  }
}
