import { once } from 'node:events';
import { createServer as createTcpServer } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import pg from 'pg';
import { expect, test } from 'vitest';
import { fullPathOf } from '../../src/server/route.ts';
import { ROUTES } from '../../src/server/route-table.ts';
import { waitUntilBlocked } from '../queue/waiting.ts';
import { useServer } from './use-server.ts';

const { database, open, ask } = useServer();
const API = '/api/v1';

/** A connection that ends may still break as the sessions of a test are ended. */
function poolOf(connectionString: string, max = 10): pg.Pool {
  const pool = new pg.Pool({ connectionString, max });
  pool.on('error', () => {});
  return pool;
}

test('without a database it says so, names no address, and answers again when it is back', async () => {
  const errors: unknown[] = [];
  const proxy = createTcpServer((socket) => socket.destroy());
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  const { port } = proxy.address() as { port: number };
  const away = open({
    databaseUrl: `postgres://bob:canary@127.0.0.1:${port}/x`,
    onError: (error) => errors.push(error),
  });
  expect((await ask('GET', '/healthz', { server: away })).status).toBe(200);
  for (const [method, path] of [
    ['GET', '/readyz'],
    ['GET', `${API}/tasks`],
    ['POST', `${API}/queues/mail/pause`],
  ] as const) {
    const { status, body, headers } = await ask(method, path, { server: away });
    expect({ status, code: body.code }).toEqual({ status: 503, code: 'unavailable' });
    expect(headers.get('retry-after')).toBe('5');
    expect(JSON.stringify(body)).not.toMatch(/canary|127\.0\.0\.1|bob/);
  }
  expect(errors.length).toBe(3);
  // Neither do routes of other parts.
  for (const route of ROUTES.filter(
    ({ method, path }, n) => method === 'GET' && path !== '/openapi.json' && n % 8 === 0,
  )) {
    const { status, body } = await ask('GET', fullPathOf(route).replaceAll(/\{\w+\}/g, '1'), {
      server: away,
    });
    expect([route.path, status === 503 || status < 500]).toEqual([route.path, true]);
    expect(JSON.stringify(body)).not.toMatch(/canary|127\.0\.0\.1|bob/);
  }
  proxy.close();

  const server = open();
  expect((await ask('GET', `${API}/tasks`, { server })).status).toBe(200);
  await database.admin.rows(
    "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'taskq serve' and datname = current_database()",
  );
  await expect.poll(async () => (await ask('GET', `${API}/tasks`, { server })).status).toBe(200);
});

test('a fault of the server is told to whoever runs it, and to the client only that it is one', async () => {
  const errors: unknown[] = [];
  open({
    onError: (error) => errors.push(error),
    authorize: () => {
      throw new TypeError('canary of the application');
    },
  });
  const { status, body } = await ask('GET', `${API}/tasks`);
  expect({ status, code: body.code }).toEqual({ status: 500, code: 'bug' });
  expect(JSON.stringify(body)).not.toMatch(/canary|TypeError| {4}at /);
  expect(errors).toMatchObject([{ message: 'canary of the application' }]);
});

test('lists that take long keep no other read waiting, nor a write', async () => {
  open();
  const body = { type: 'work' };
  const { id } = (await ask('POST', `${API}/tasks`, { body })).body;
  const blocker = await database.session();
  await blocker.rows('begin');
  await blocker.rows('lock table taskq.audit in access exclusive mode');
  const lists = Array.from({ length: 100 }, () => ask('GET', `${API}/audit`));
  await waitUntilBlocked(database.admin, 6);
  const others = await Promise.all([
    ask('GET', `${API}/stats`),
    ask('GET', `${API}/tasks/${id}/explain`),
    ask('POST', `${API}/tasks`, { body }),
  ]);
  expect(others.map(({ status }) => status)).toEqual([200, 200, 201]);
  // Still: the others have not waited for an end of these.
  await expect
    .poll(() =>
      database.admin.value(
        `select count(*)::int from pg_stat_activity
         where datname = current_database() and application_name = 'taskq serve' and wait_event_type = 'Lock'`,
      ),
    )
    .toBe(6);
  await blocker.rows('rollback');
  await Promise.all(lists);
});

test('a statement that takes too long is ended', async () => {
  open();
  const blocker = await database.session();
  await blocker.rows('begin');
  await blocker.rows('lock table taskq.task_types in access exclusive mode');
  const { status, body } = await ask('GET', `${API}/types`);
  expect({ status, code: body.code }).toEqual({ status: 503, code: 'too_slow' });
  await blocker.rows('rollback');
  expect((await ask('GET', `${API}/types`)).status).toBe(200);
});

test('a GET could not write if it tried, in sessions of its own or the application’s', async () => {
  const pool = poolOf(database.url);
  // In the place of what reads: a function that writes.
  const written = `create or replace function taskq.get_defaults() returns jsonb language sql security definer
    as $$ insert into taskq.queues (name) values ('written') returning '{}'::jsonb $$`;
  const original = await database.admin.value<string>(
    "select pg_get_functiondef('taskq.get_defaults'::regproc)",
  );
  await database.admin.rows(written);
  try {
    for (const given of [{ databaseUrl: database.url }, { pool, databaseUrl: undefined }]) {
      const server = open(given as object);
      expect((await ask('GET', `${API}/defaults`, { server })).status).toBe(503);
    }
    expect(await database.admin.value('select count(*)::int from taskq.queues')).toBe(0);
  } finally {
    await database.admin.rows(original);
    await pool.end();
  }
});

test('a client that goes leaves no wait behind', async () => {
  const errors: unknown[] = [];
  const server = open({ onError: (error) => errors.push(error) });
  const { id } = (await ask('POST', `${API}/tasks`, { body: { type: 'work' } })).body;
  const leaving = new AbortController();
  const answer = server.fetch(
    new Request(`http://localhost${API}/tasks/${id}/wait`, { signal: leaving.signal }),
  );
  await turn();
  leaving.abort();
  expect((await answer).status).toBe(408);
  expect(errors).toEqual([]);
});

test('closing ends what waits', async () => {
  const server = open();
  const { id } = (await ask('POST', `${API}/tasks`, { body: { type: 'work' } })).body;
  const answer = ask('GET', `${API}/tasks/${id}/wait`, { server });
  await turn();
  await server.close();
  expect((await answer).status).toBe(503);
});

test('an application’s pool serves as well, and its sessions stay as they were', async () => {
  const pool = poolOf(database.url, 1);
  try {
    const settings = async () =>
      (await pool.query('select name, setting from pg_settings order by name')).rows;
    const before = await settings();
    const server = open({ pool, databaseUrl: undefined } as object);
    const text = '{"type":"work","payload":{"at":"it\'s $1 \\\\","n":9007199254740993}}';
    const { id } = (await ask('POST', `${API}/tasks`, { server, text })).body;
    expect((await ask('GET', `${API}/tasks/${id}`, { server })).body.payload.at).toBe("it's $1 \\");
    expect((await ask('POST', `${API}/tasks`, { server, body: { type: 'wrok' } })).body.nearest).toEqual([
      'work',
    ]);
    expect(await settings()).toEqual(before);
  } finally {
    await pool.end();
  }
});
