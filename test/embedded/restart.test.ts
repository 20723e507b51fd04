import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { namesIn } from '../../src/embedded/files.ts';
import type { EmbeddedServer } from '../../src/embedded/server.ts';
import { startEmbedded } from '../../src/embedded/start.ts';
import { connectClient } from '../../src/lib/connect.ts';
import { endProcesses, isAlive, killHard, startBystander, startZombie } from './processes.ts';
import { query } from './query.ts';
import { removeStateDirectories, stateDirectory } from './state-directory.ts';

/** Its server is killed and restarted again and again. */
let stateDir: string;

beforeAll(async () => {
  stateDir = await stateDirectory();
});
afterEach(endProcesses);
afterAll(removeStateDirectories);

/** Starts a server with a committed row. */
async function startWithRow(): Promise<EmbeddedServer> {
  const server = await startEmbedded({ stateDir });
  await query(server, 'drop table if exists kept; create table kept as select 1 as one');
  return server;
}

/** The same, with its postmaster killed. */
async function killedServer(): Promise<EmbeddedServer> {
  const server = await startWithRow();
  await killHard(server.pid);
  return server;
}

/** Starts it again and shows that it is another process with the committed row. */
async function expectRestart(killed: EmbeddedServer): Promise<EmbeddedServer> {
  const server = await startEmbedded({ stateDir: killed.stateDir });
  expect(server.pid).not.toBe(killed.pid);
  expect(await query(server, 'select * from kept')).toEqual([{ one: 1 }]);
  return server;
}

/** What the killed server wrote down, with another number for its pid. */
async function recordPid(server: EmbeddedServer, pid: number): Promise<void> {
  for (const file of [join(server.dataDir, 'postmaster.pid'), join(server.socketDir, '.s.PGSQL.5432.lock')]) {
    const [, ...rest] = (await readFile(file, 'utf8')).split('\n');
    await writeFile(file, [pid, ...rest].join('\n'));
  }
}

test('it starts again after kill -9 and has lost nothing', async () => {
  await expectRestart(await killedServer());
});

test('an empty pid file does not block the next start', async () => {
  const killed = await killedServer();
  await writeFile(join(killed.dataDir, 'postmaster.pid'), '');
  await expectRestart(killed);
});

test('a pid that another process has got since does not block the next start, nor is that process harmed', async () => {
  const killed = await killedServer();
  const bystander = await startBystander(killed.dataDir);
  await recordPid(killed, bystander);
  await expectRestart(killed);
  expect(await isAlive(bystander)).toBe(true);
});

test('an unreaped zombie does not block the next start', async () => {
  const killed = await killedServer();
  const zombie = await startZombie(killed.dataDir);
  await recordPid(killed, zombie);
  await expectRestart(killed);
});

test('backends that outlived their postmaster are ended, and do not block the next start', async () => {
  const server = await startWithRow();
  const client = await connectClient({ connectionString: server.url('postgres') });
  client.on('error', () => {});
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
  const backend = rows[0]!.pid;
  // It never waits, so it never learns that the postmaster is gone.
  const endless = client.query('do $$ begin loop perform 1; end loop; end $$').catch((error: Error) => error);
  await untilBusy(server, backend);
  await killHard(server.pid);
  expect(await isAlive(backend)).toBe(true);

  await expectRestart(server);
  expect(await isAlive(backend)).toBe(false);
  expect(await endless).toBeInstanceOf(Error);
});

async function untilBusy(server: EmbeddedServer, backend: number): Promise<void> {
  const busy = `select from pg_stat_activity where pid = ${backend} and state = 'active' and query like 'do %'`;
  while ((await query(server, busy)).length === 0);
}

test('a shell in the data directory is not mistaken for the server', async () => {
  const killed = await killedServer();
  const shell = await startBystander(killed.dataDir, killed.dataDir);
  await recordPid(killed, shell);
  await expectRestart(killed);
  expect(await isAlive(shell)).toBe(true);
});

test('a start that was killed while it held the lock does not block the next one', async () => {
  const killed = await killedServer();
  const dead = { pid: killed.pid, startedAt: '1', token: 'a' };
  await writeFile(join(killed.stateDir, 'start.lock.4'), JSON.stringify(dead));
  await expectRestart(killed);
});

test('a lock whose pid belongs to another process by now does not block the next start', async () => {
  const killed = await killedServer();
  const reused = { pid: process.pid, startedAt: '1', token: 'a' };
  await writeFile(join(killed.stateDir, 'start.lock.4'), JSON.stringify(reused));
  await expectRestart(killed);
});

test('a lock that a power cut has emptied does not block the next start', async () => {
  const killed = await killedServer();
  await writeFile(join(killed.stateDir, 'start.lock.4'), '');
  await expectRestart(killed);
});

test('the leftovers of a start killed while creating the data directory are removed by the next start', async () => {
  const unfinished = await stateDirectory();
  await mkdir(join(unfinished, 'pg18.new-abcdef', 'base'), { recursive: true });
  await startEmbedded({ stateDir: unfinished });
  expect((await namesIn(unfinished)).filter((name) => name.includes('.new-'))).toEqual([]);
});
