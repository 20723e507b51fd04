import { execFile } from 'node:child_process';
import { appendFile, mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { TaskQueue } from 'taskq';
import { createServer } from 'taskq/serve';
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { EmbeddedServer } from '../../src/embedded/server.ts';
import { startEmbedded } from '../../src/embedded/start.ts';
import { stopEmbedded } from '../../src/embedded/stop.ts';
import { migrate } from '../../src/queue/schema/migrate.ts';
import { query } from '../embedded/query.ts';
import { removeStateDirectories, stateDirectory } from '../embedded/state-directory.ts';
import { waitUntil } from '../queue/waiting.ts';
import { killStartedTaskqs, type RunningTaskq, startTaskq } from '../support/start-taskq.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { event } from './support/workers.ts';

const HANDLER = `import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
export default async ({ file, says = 'done' }) => { while (!existsSync(file)) await sleep(20); return says; };`;

const SETTINGS = { fsync: 'off' };

/** The server to which the database's name leads; it can be changed. */
let name: { url: string; leadTo(server: EmbeddedServer): Promise<void> };
let cwd: string;
let tasks: TaskQueue;
/** The data of a migrated server that has ended, which every server of a test begins with. */
let data: string;

beforeAll(async () => {
  const stateDir = await stateDirectory();
  const server = await startEmbedded({ stateDir, settings: SETTINGS });
  await migrate({ databaseUrl: server.url('postgres') });
  await stopEmbedded({ stateDir });
  const kept = await temporaryDirectory();
  await copy(server.dataDir, kept);
  data = join(kept, basename(server.dataDir));
  await removeStateDirectories();
});

beforeEach(async () => {
  cwd = await temporaryDirectory();
  await mkdir(join(cwd, 'handlers'));
  await writeFile(join(cwd, 'handlers/hold.mjs'), HANDLER);
  const socket = join(cwd, '.s.PGSQL.5432');
  name = {
    url: `postgres://postgres@/postgres?host=${encodeURIComponent(cwd)}&port=5432`,
    async leadTo({ socketDir }) {
      await rm(socket, { force: true });
      await symlink(join(socketDir, '.s.PGSQL.5432'), socket);
    },
  };
  tasks = new TaskQueue({ databaseUrl: name.url });
});

afterEach(async () => {
  await tasks.close();
  await killStartedTaskqs();
  await removeStateDirectories();
});

/** A worker with short intervals. */
const work = (options: readonly string[] = [], env: Readonly<Record<string, string>> = {}) =>
  startTaskq(['work', '--lease', '3s', '--poll', '100ms', ...options], {
    cwd,
    env: {
      DATABASE_URL: name.url,
      TASKQ_HEARTBEAT: '300ms',
      TASKQ_RESCUE: '200ms',
      TASKQ_LOG_LEVEL: 'info',
      ...env,
    },
  });

/** Enqueue a task that runs until its gate is opened, and wait until it runs. */
async function held(gate: string): Promise<string> {
  const { id } = await tasks.enqueue('hold', { file: join(cwd, gate) }, { allowUnknown: true });
  await waitUntil(async () => (await tasks.get(id))?.status === 'running', 'it does not run');
  return id;
}

const open = (gate: string) => writeFile(join(cwd, gate), '');

/** The log's events, except routine ones. */
const eventNames = (worker: RunningTaskq) =>
  worker
    .logs()
    .map((line) => String(line.event))
    .filter((eventNames) => !/^worker\.(started|progress|maintained)$/.test(eventNames));

describe('a server that has become read-only', () => {
  test('has lost its workers, once, until it takes them again: nothing runs twice', async () => {
    const server = await startEmbedded({ stateDir: await withData(), settings: SETTINGS });
    await name.leadTo(server);
    const worker = work();
    const id = await held('go');
    await query(server, 'alter system set default_transaction_read_only = on');
    await query(server, 'select pg_reload_conf()');
    expect(await worker.waitForLog(event('connection.lost'))).toMatchObject({
      error: { message: expect.stringMatching(/read-only/) },
    });
    const waiting = tasks.wait(id);
    waiting.catch(() => {});
    await open('go');
    // Long enough for a lease to end and for every retry to happen.
    await waitUntil(async () => {
      const [row] = await query(
        server,
        `select lease_expires_at < clock_timestamp() as over from taskq.tasks where id = ${id}`,
      );
      return row?.over === true;
    }, 'the lease does not end');
    await query(server, 'alter system reset default_transaction_read_only');
    await query(server, 'select pg_reload_conf()');
    expect(await waiting).toMatchObject({ status: 'completed', result: 'done' });
    await worker.waitForLog(event('connection.restored'));
    expect(eventNames(worker)).toEqual(['connection.lost', 'connection.restored']);
    expect(await query(server, 'select losses from taskq.finished_tasks')).toEqual([{ losses: 0 }]);
  });

  test('is left for the one that its name leads to by now', async () => {
    const { old, promote } = await pair();
    await name.leadTo(old);
    const worker = work();
    const id = await held('go');
    const waiting = tasks.wait(id);
    waiting.catch(() => {});
    await query(old, 'alter system set default_transaction_read_only = on');
    await query(old, 'select pg_reload_conf()');
    const fresh = await promote();
    await name.leadTo(fresh);
    await worker.waitForLog(event('connection.restored'));
    await open('go');
    expect(await waiting).toMatchObject({ status: 'completed', result: 'done' });
    expect(await query(fresh, 'select losses from taskq.finished_tasks')).toEqual([{ losses: 0 }]);
    const left = `select from pg_stat_activity
      where application_name like 'taskq worker%' or (application_name = 'taskq' and query like 'listen %')`;
    await waitUntil(async () => (await query(old, left)).length === 0, 'somebody stays');
    // Another connection to the old one may be noticed after the first is restored.
    const names = eventNames(worker);
    expect(names).toEqual(names.map((_, nth) => (nth % 2 === 0 ? 'connection.lost' : 'connection.restored')));
    expect(names.at(-1)).toBe('connection.restored');
  });

  test('is none to start a worker on, and the message says why', async () => {
    const { old, standby } = await pair();
    await name.leadTo(standby);
    const worker = work();
    expect(await worker.exit).toEqual({ code: 1, signal: null });
    expect(worker.stderr()).toMatch(
      /^taskq: the database postgres:\S+ is read-only: it is a standby — connect to the primary server\n$/,
    );
    await name.leadTo(old);
    expect((await tasks.list().page()).tasks).toEqual([]);
  });

  test('has no events to read, and says so at once; a server that reads from it asks the primary', async () => {
    const { old, standby } = await pair();
    const events = startTaskq(['events'], { cwd, env: { DATABASE_URL: standby.url('postgres') } });
    expect(await events.exit).toEqual({ code: 1, signal: null });
    expect(events.stderr()).toMatch(
      /a standby does not know which transactions run — read events from the primary\n$/,
    );
    const server = await createServer({
      databaseUrl: old.url('postgres'),
      readUrl: standby.url('postgres'),
      authorize: () => ({ role: 'viewer' }),
    });
    try {
      const answer = await server.fetch(new Request('http://127.0.0.1/api/v1/events?after=now'));
      expect(await answer.json()).toMatchObject({ events: [], after: expect.any(String) });
    } finally {
      await server.close();
    }
  });
});

test('a worker that outlives a failover that lost commits records nothing of the old tasks for new ones with their ids', async () => {
  const { old, promote } = await pair();
  await name.leadTo(old);
  // Its heartbeats find the new server only after it has claimed there.
  const worker = work(['--concurrency', '20', '--lease', '30s'], { TASKQ_HEARTBEAT: '10s' });
  await worker.waitForLog(event('worker.started'));
  // From now on it has nothing of what happens on the old one.
  const fresh = await promote();
  const enqueueTen = (databaseUrl: string, says: string) =>
    enqueueAll(databaseUrl, 10, { file: join(cwd, says), says });
  const lost = await enqueueTen(old.url('postgres'), 'old');
  await allRun(old, lost);
  const ids = await enqueueTen(fresh.url('postgres'), 'new');
  expect(ids).toEqual(lost);
  const named = "select pid from pg_stat_activity where application_name like 'taskq worker %heartbeat'";
  await waitUntil(async () => (await query(old, named)).length > 0, 'its heartbeats have no connection');
  const [beating] = (await query(old, named)) as [{ pid: number }];
  process.kill(beating.pid, 'SIGSTOP');
  await name.leadTo(fresh);
  await query(
    old,
    "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'taskq worker'",
  );
  await allRun(fresh, ids);
  process.kill(beating.pid, 'SIGTERM');
  process.kill(beating.pid, 'SIGCONT');
  await open('old');
  for (const id of lost) await worker.waitForLog(event('lease.lost', id));
  await allRun(fresh, ids);
  await open('new');
  const results =
    'select f.id::text, f.status::text, f.result, f.losses from taskq.finished_tasks f order by f.id';
  await waitUntil(async () => (await query(fresh, results)).length === ids.length, 'they are not recorded');
  expect(await query(fresh, results)).toEqual(
    ids.map((id) => ({ id, status: 'completed', result: 'new', losses: 0 })),
  );
  expect(eventNames(worker).filter((line) => line === 'lease.lost')).toHaveLength(ids.length);
});

test('a worker whose registration a failover has lost registers again, with its settings and orders', async () => {
  const { old, promote } = await pair();
  await name.leadTo(old);
  await writeFile(
    join(cwd, 'handlers/late.mjs'),
    'export const maxAttempts = 7; export default () => "late";',
  );
  const fresh = await promote();
  const worker = work(['--queues', 'default,late'], { TASKQ_QUEUES: '' });
  const { worker_id: id } = await worker.waitForLog(event('worker.started'));
  expect(await query(fresh, 'select id from taskq.workers')).toEqual([]);
  await name.leadTo(fresh);
  await query(
    old,
    "select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'taskq worker%'",
  );
  expect(await worker.waitForLog(event('worker.registered_again'))).toMatchObject({ worker_id: id });
  const rows = await query(fresh, "select id, queues, types @> '{hold,late}' as handles from taskq.workers");
  expect(rows).toEqual([{ id, queues: ['default', 'late'], handles: true }]);
  // The type is known, and has its settings.
  const late = await tasks.enqueue('late', {});
  expect(await tasks.wait(late.id)).toMatchObject({ status: 'completed', result: 'late' });
  await query(fresh, `select taskq.stop_worker(${id})`);
  expect(await worker.exit).toMatchObject({ code: 0 });
});

/** Enqueue tasks past the worker's connection. */
async function enqueueAll(databaseUrl: string, count: number, payload: object): Promise<string[]> {
  const direct = new TaskQueue({ databaseUrl });
  const ids: string[] = [];
  for (let n = 0; n < count; n++)
    ids.push((await direct.enqueue('hold', payload, { allowUnknown: true })).id);
  await direct.close();
  return ids;
}

function allRun(server: EmbeddedServer, ids: readonly string[]): Promise<void> {
  return waitUntil(async () => {
    const [row] = await query(
      server,
      `select count(*)::integer as running from taskq.tasks where status = 'running' and id in (${ids.join()})`,
    );
    return row?.running === ids.length;
  }, 'they do not run');
}

const copy = (from: string, to: string) => promisify(execFile)('cp', ['-a', from, to]);

/** Makes a state directory with a copy of the data. */
async function withData(): Promise<string> {
  const stateDir = await stateDirectory();
  await copy(data, stateDir);
  return stateDir;
}

/** A server and its standby, which has all the server's data by the time it is promoted. */
async function pair() {
  const [stateDir, copyDir] = [await withData(), await withData()];
  const old = await startEmbedded({ stateDir, settings: SETTINGS });
  const ofCopy = join(copyDir, basename(data));
  await copy(join(ofCopy, 'PG_VERSION'), join(ofCopy, 'standby.signal')); // it has the server's owner
  const source = `host=${old.socketDir} port=5432 user=postgres`;
  await appendFile(join(ofCopy, 'postgresql.auto.conf'), `primary_conninfo = '${source}'\n`);
  const standby = await startEmbedded({ stateDir: copyDir, settings: SETTINGS });
  const promote = async () => {
    const [{ lsn }] = (await query(old, 'select pg_current_wal_flush_lsn()::text as lsn')) as [
      { lsn: string },
    ];
    await waitUntil(async () => {
      const [row] = await query(standby, `select pg_last_wal_replay_lsn() >= '${lsn}' as all`);
      return row?.all === true;
    }, 'the standby does not follow');
    await query(standby, 'select pg_promote()');
    return standby;
  };
  return { old, standby, promote };
}
