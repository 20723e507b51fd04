import pg from 'pg';

/**
 * Opens one connection and returns it connected. Fails with the driver's or the server's own error; the caller
 * ends it.
 */
export async function connectClient(options: {
  connectionString: string;
  connectTimeoutMs?: number;
}): Promise<pg.Client> {
  const client = new pg.Client({
    connectionString: options.connectionString,
    connectionTimeoutMillis: options.connectTimeoutMs ?? 10_000,
  });
  // A connection that breaks fails the statement that waits for it; the event as such would end the process.
  client.on('error', () => {});
  await client.connect();
  return client;
}

/** A single connection, for what needs a session of its own. */
export type Client = pg.Client;
