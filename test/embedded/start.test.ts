import { stat } from 'node:fs/promises';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { EmbeddedServer } from '../../src/embedded/server.ts';
import { startEmbedded } from '../../src/embedded/start.ts';
import { embeddedStatus } from '../../src/embedded/status.ts';
import { stopEmbedded } from '../../src/embedded/stop.ts';
import { endProcesses, runInProcess } from './processes.ts';
import { query } from './query.ts';
import { emptyStateDirectory, removeStateDirectories, stateDirectory } from './state-directory.ts';

describe('a server that was started with the defaults', () => {
  let server: EmbeddedServer;

  beforeAll(async () => {
    server = await startEmbedded({ stateDir: await stateDirectory() });
  });
  afterAll(removeStateDirectories);

  test('is returned by a second start, which does nothing', async () => {
    const steps: string[] = [];
    const { stateDir, pid } = server;
    const second = await startEmbedded({ stateDir, onProgress: (step) => steps.push(step) });
    expect(second.pid).toBe(pid);
    expect(steps).toEqual([]);
  });

  test('listens on no network, and only its user may enter the directory of its socket', async () => {
    expect(await query(server, `select current_setting('listen_addresses') as tcp`)).toEqual([{ tcp: '' }]);
    expect((await stat(server.socketDir)).mode & 0o777).toBe(0o700);
  });

  test('has a database that is durable, in UTF-8, and sorts by bytes', async () => {
    const [settings] = await query(
      server,
      `select current_setting('fsync') as fsync, current_setting('server_encoding') as encoding,
         datcollate as collation from pg_database where datname = 'template0'`,
    );
    expect(settings).toEqual({ fsync: 'on', encoding: 'UTF8', collation: 'C' });
  });

  test('has what was stored after a stop and a start', async () => {
    const { stateDir } = server;
    await query(server, 'create table kept as select 1 as one');
    expect(await stopEmbedded({ stateDir })).toBe('stopped');
    expect(await embeddedStatus({ stateDir })).toBeUndefined();
    expect(await query(await startEmbedded({ stateDir }), 'select * from kept')).toEqual([{ one: 1 }]);
  });
});

describe('a server of its own', () => {
  afterEach(async () => {
    await endProcesses();
    await removeStateDirectories();
  });

  test('the first start copies the binaries, makes the data directory and starts the server', async () => {
    const stateDir = await emptyStateDirectory();
    const steps: string[] = [];
    const server = await startEmbedded({ stateDir, onProgress: (step) => steps.push(step) });
    expect(steps).toEqual(['copying binaries', 'creating the data directory', 'starting']);
    expect(server).toMatchObject({
      stateDir,
      version: expect.stringMatching(/^18\.\d+$/),
      pid: expect.any(Number),
    });
    expect(server.user).not.toBe('root');
    expect(await query(server, 'select current_user as me')).toEqual([{ me: 'postgres' }]);
  });

  test('ten processes that start it at once share one server, also after a crash', async () => {
    const stateDir = await stateDirectory();
    await expectOneServer(stateDir);
    const { pid } = (await embeddedStatus({ stateDir }))!;
    process.kill(pid, 'SIGKILL');
    await expectOneServer(stateDir);
    expect((await embeddedStatus({ stateDir }))?.pid).not.toBe(pid);
  });

  test('settings that are given win over our own', async () => {
    const settings = { fsync: 'off', max_connections: '17' };
    const server = await startEmbedded({ stateDir: await stateDirectory(), settings });
    const [found] = await query(
      server,
      `select current_setting('fsync') as fsync, current_setting('max_connections') as max_connections`,
    );
    expect(found).toEqual(settings);
  });

  test('a setting that the server refuses is named in the error', async () => {
    const start = startEmbedded({ stateDir: await stateDirectory(), settings: { shared_buffers: 'plenty' } });
    await expect(start).rejects.toMatchObject({
      code: 'embedded_start_failed',
      message: expect.stringContaining('shared_buffers'),
    });
  });

  test('a path with a space, a comma, a quote and a percent sign is a path like any other', async () => {
    const stateDir = await stateDirectory('a, "b" + c%20');
    const server = await startEmbedded({ stateDir });
    expect(await query(server, 'select 1 as one')).toEqual([{ one: 1 }]);
  });
});

/** Ten processes start it, and all print the pid that the status says. */
async function expectOneServer(stateDir: string): Promise<void> {
  const program = `console.log((await ours.startEmbedded({ stateDir: ${JSON.stringify(stateDir)} })).pid)`;
  const starts = Array.from({ length: 10 }, () => runInProcess('embedded/start.js', program));
  const pids = await Promise.all(starts);
  expect(new Set(pids)).toEqual(new Set([String((await embeddedStatus({ stateDir }))?.pid)]));
}
