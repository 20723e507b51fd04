import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { inject } from 'vitest';

/** A database for this test alone. */
export interface TestDatabase {
  /** URL for the code under test: through a pooler, if this project has one. */
  readonly url: string;
  /** URL of the server itself. */
  readonly directUrl: string;
  readonly name: string;
  /** Opens a connection to the server itself; `drop` closes it. Losing it raises no error until the next query. */
  client(): Promise<pg.Client>;
  /** Opens a connection as the code under test does: through a pooler, if this project has one. */
  userClient(): Promise<pg.Client>;
  /** Closes the connections opened here, ends every other session and drops the database. */
  drop(): Promise<void>;
}

/** Creates a database with the migrated schema, a clone of the template (~0.06 s). */
export function createTestDatabase(): Promise<TestDatabase> {
  return createFrom('taskq_template');
}

/** Creates a copy of a database in which there is no session. */
export function cloneOf(database: TestDatabase): Promise<TestDatabase> {
  return createFrom(database.name);
}

/** Creates a database without our schema. */
export function emptyDatabase(): Promise<TestDatabase> {
  return createFrom('template0');
}

async function createFrom(template: string): Promise<TestDatabase> {
  const name = `test_${randomBytes(6).toString('hex')}`;
  await cloneDatabase(name, template);
  const directUrl = inject('serverUrl').replace('/postgres?', `/${name}?`);
  const poolerUrl = inject('poolerUrl');
  const url = poolerUrl === null ? directUrl : poolerUrl.replace('/postgres?', `/${name}?`);
  const open: pg.Client[] = [];
  const opened = async (to: string) => {
    const client = await connect(to);
    open.push(client);
    return client;
  };
  return {
    url,
    directUrl,
    name,
    client: () => opened(directUrl),
    userClient: () => opened(url),
    async drop() {
      await Promise.allSettled(open.splice(0).map((client) => client.end()));
      await administer(`drop database if exists ${name} with (force)`);
    },
  };
}

/** Retries on 55006: a session is connected to the template, perhaps a server process about to exit. */
async function cloneDatabase(name: string, template: string): Promise<void> {
  for (let triesLeft = 20; ; triesLeft--) {
    try {
      // Of a small template this costs half of what a copy through the write-ahead log does.
      return await administer(`create database ${name} template ${template} strategy file_copy`);
    } catch (error) {
      if ((error as pg.DatabaseError).code !== '55006' || triesLeft === 0) throw error;
      await sleep(50);
    }
  }
}

async function administer(statement: string): Promise<void> {
  const client = await connect(inject('serverUrl'));
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}

async function connect(connectionString: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString, connectionTimeoutMillis: 10_000 });
  client.on('error', () => {});
  await client.connect();
  return client;
}
