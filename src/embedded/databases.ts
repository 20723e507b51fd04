import { type Client, connectClient } from '../lib/connect.ts';
import type { EmbeddedServer } from './server.ts';

/** Creates the database if it does not exist. Any number of processes may do so at once. */
export async function ensureDatabase(server: EmbeddedServer, name: string): Promise<'created' | 'exists'> {
  return asAdministrator(server, async (client) => {
    if (await isThere(client, name)) return 'exists';
    try {
      // Not template1: a session in it would make this fail.
      await client.query(`create database ${client.escapeIdentifier(name)} template template0`);
      return 'created';
    } catch (error) {
      if (await isThere(client, name)) return 'exists';
      throw error;
    }
  });
}

/** Drops the database and ends its sessions. */
export async function dropDatabase(server: EmbeddedServer, name: string): Promise<'dropped' | 'absent'> {
  return asAdministrator(server, async (client) => {
    if (!(await isThere(client, name))) return 'absent';
    await client.query(`drop database if exists ${client.escapeIdentifier(name)} with (force)`);
    return 'dropped';
  });
}

async function asAdministrator<T>(server: EmbeddedServer, work: (client: Client) => Promise<T>): Promise<T> {
  const client = await connectClient({ connectionString: server.url('postgres') });
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

async function isThere(client: Client, name: string): Promise<boolean> {
  const { rows } = await client.query('select from pg_database where datname = $1', [name]);
  return rows.length > 0;
}
