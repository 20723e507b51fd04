import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { dropDatabase, ensureDatabase } from '../../src/embedded/databases.ts';
import type { EmbeddedServer } from '../../src/embedded/server.ts';
import { startEmbedded } from '../../src/embedded/start.ts';
import { connectClient } from '../../src/lib/connect.ts';
import { query } from './query.ts';
import { removeStateDirectories, stateDirectory } from './state-directory.ts';

let server: EmbeddedServer;

beforeAll(async () => {
  server = await startEmbedded({ stateDir: await stateDirectory() });
});
afterEach(() => void vi.unstubAllEnvs());
afterAll(removeStateDirectories);

test('of many concurrent requests for a database one creates it and all succeed', async () => {
  const answers = await Promise.all(Array.from({ length: 16 }, () => ensureDatabase(server, 'wanted')));
  expect(answers.filter((answer) => answer === 'created')).toHaveLength(1);
  expect(answers.filter((answer) => answer === 'exists')).toHaveLength(15);
  expect(await query(server, 'select current_database() as name', 'wanted')).toEqual([{ name: 'wanted' }]);
});

test('a session in template1 does not keep a database from being made', async () => {
  const client = await connectClient({ connectionString: server.url('template1') });
  expect(await ensureDatabase(server, 'beside_template1')).toBe('created');
  await client.end();
});

test('a database whose name needs quotes can be made, entered and dropped', async () => {
  const name = 'My "project"';
  expect(await ensureDatabase(server, name)).toBe('created');
  expect(await query(server, 'select current_database() as name', name)).toEqual([{ name }]);
  expect(await dropDatabase(server, name)).toBe('dropped');
});

test('a drop ends the sessions in the database, and a second one says that it is absent', async () => {
  await ensureDatabase(server, 'unwanted');
  const client = await connectClient({ connectionString: server.url('unwanted') });
  const lost = new Promise((resolve) => client.on('error', resolve));
  expect(await dropDatabase(server, 'unwanted')).toBe('dropped');
  expect(await lost).toMatchObject({ code: '57P01' });
  expect(await dropDatabase(server, 'unwanted')).toBe('absent');
});

test('psql takes the same URL as the driver, whatever PGPORT and PGSSLMODE say', async () => {
  vi.stubEnv('PGPORT', '1');
  vi.stubEnv('PGSSLMODE', 'require');
  expect(await query(server, 'select current_user as name')).toEqual([{ name: 'postgres' }]);

  const env = { PATH: process.env.PATH, PGPORT: '1', PGSSLMODE: 'require', PGHOST: 'nowhere.invalid' };
  const args = [server.url('postgres'), '-Atc', 'select current_user'];
  const answer = await promisify(execFile)('psql', args, { env }).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return { stdout: 'postgres\n' }; // no psql here: nothing to show
    throw error;
  });
  expect(answer.stdout).toBe('postgres\n');
});
