import { connectClient } from '../lib/connect.ts';
import type { PgClient } from '../lib/pg-client.ts';

/**
 * Runs a test in a transaction on a connection of its own, passed as `client`, and rolls it back: the test leaves nothing
 * in the database and sees nothing of tests beside it. Returns what the test returns, and throws what it throws.
 */
export async function rolledBack<T>(databaseUrl: string, test: (client: PgClient) => Promise<T>): Promise<T> {
  const connection = await connectClient({ connectionString: databaseUrl });
  try {
    const client: PgClient = { query: (statement) => connection.query(statement) };
    await connection.query('begin');
    return await test(client);
  } finally {
    // The server rolls back what the connection has not committed.
    await connection.end();
  }
}
