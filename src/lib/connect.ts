import pg from 'pg';

/** Opens one connection and returns it connected. Throws the driver's or the server's error. The caller ends it. */
export async function connectClient(options: {
  connectionString: string;
  connectTimeoutMs?: number;
}): Promise<pg.Client> {
  const client = new pg.Client({
    connectionString: options.connectionString,
    connectionTimeoutMillis: options.connectTimeoutMs ?? 10_000,
  });
  // A connection that breaks fails its pending statement; an unhandled event would end the process.
  client.on('error', () => {});
  await client.connect();
  return client;
}

/** A single connection, for work that needs a dedicated session. */
export type Client = pg.Client;
