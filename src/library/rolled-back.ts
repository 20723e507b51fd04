import { connectClient } from '../lib/connect.ts';
import type { TransactionClient } from '../lib/open-transaction.ts';

/**
 * Runs a test in a transaction on a connection of its own, passed as `client`, and rolls it back: the test leaves nothing
 * in the database and sees nothing of tests beside it. Returns what the test returns, and throws what it throws.
 */
export async function rolledBack<T>(
  databaseUrl: string,
  test: (client: TransactionClient) => Promise<T>,
): Promise<T> {
  const connection = await connectClient({ connectionString: databaseUrl });
  try {
    const client = { query: connection.query.bind(connection) } as unknown as TransactionClient;
    await connection.query('begin');
    return await test(client);
  } finally {
    // The server rolls back what the connection has not committed.
    await connection.end();
  }
}
