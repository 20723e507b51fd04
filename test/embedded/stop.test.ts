import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { namesIn } from '../../src/embedded/files.ts';
import { resetServer } from '../../src/embedded/reset.ts';
import { startEmbedded } from '../../src/embedded/start.ts';
import { embeddedStatus } from '../../src/embedded/status.ts';
import { stopEmbedded } from '../../src/embedded/stop.ts';
import { connectClient } from '../../src/lib/connect.ts';
import { endProcesses, isAlive, killHard, startBystander } from './processes.ts';
import { query } from './query.ts';
import { emptyStateDirectory, removeStateDirectories, stateDirectory } from './state-directory.ts';

afterEach(endProcesses);
afterEach(removeStateDirectories);

test('a stop ends the server and the sessions in it, and a second one says so', async () => {
  const stateDir = await stateDirectory();
  const server = await startEmbedded({ stateDir });
  const client = await connectClient({ connectionString: server.url('postgres') });
  const lost = new Promise((resolve) => client.on('error', resolve));
  expect(await stopEmbedded({ stateDir })).toBe('stopped');
  expect(await lost).toMatchObject({ code: '57P01' });
  expect(await isAlive(server.pid)).toBe(false);
  expect(await embeddedStatus({ stateDir })).toBeUndefined();
  expect(await stopEmbedded({ stateDir })).toBe('not running');
});

test('stop and reset report that nothing was ever started', async () => {
  const stateDir = join(await emptyStateDirectory(), 'never');
  expect(await embeddedStatus({ stateDir })).toBeUndefined();
  expect(await stopEmbedded({ stateDir })).toBe('not running');
  expect(await resetServer({ stateDir })).toBe('nothing there');
});

test('a stop does not end a process that got the pid of a killed server', async () => {
  const stateDir = await stateDirectory();
  const { pid, dataDir } = await startEmbedded({ stateDir });
  await killHard(pid);
  const bystander = await startBystander(dataDir);
  await writeFile(join(dataDir, 'postmaster.pid'), `${bystander}\n`);
  expect(await stopEmbedded({ stateDir })).toBe('not running');
  expect(await isAlive(bystander)).toBe(true);
});

test('a reset stops the server and deletes every database, and the next start makes an empty one', async () => {
  const stateDir = await stateDirectory();
  const server = await startEmbedded({ stateDir });
  await query(server, 'create table kept as select 1 as one');
  expect(await resetServer({ stateDir })).toBe('deleted');
  expect(await isAlive(server.pid)).toBe(false);
  expect(await namesIn(stateDir)).not.toContain('pg18');
  const fresh = await startEmbedded({ stateDir });
  expect(await query(fresh, `select to_regclass('kept') as kept`)).toEqual([{ kept: null }]);
});
