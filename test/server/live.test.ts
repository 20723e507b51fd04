import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { expect, test } from 'vitest';
import { EventStream, eventOf } from '../../src/server/event-stream.ts';
import { listen } from '../../src/server/listen.ts';
import { openWay } from '../worker/support/proxy.ts';
import { listenTo } from './live-events.ts';
import { sampled } from './sampled.ts';
import { useServer } from './use-server.ts';

const { database, open, ask, token } = useServer();

const enqueued = (queue: string) =>
  database.admin.rows(`select taskq.enqueue('work', '{}', jsonb_build_object('queue', $1::text))`, queue);

test('each new sample is sent, with its time as the id', async () => {
  const { status, next } = await listenTo(open());
  expect(status).toBe(200);
  expect(await next()).toMatchObject({ event: 'stats', id: undefined, data: { sampledAt: null, pairs: [] } });
  await enqueued('mail');
  await sampled(database.admin);
  const event = await next();
  expect(event).toMatchObject({ event: 'stats', data: { pairs: [{ queue: 'mail', due: 1 }] } });
  expect(event!.id).toBe(event!.data.sampledAt);
});

test('a client that comes back gets what it has not had', async () => {
  const server = open();
  await enqueued('mail');
  await sampled(database.admin);
  const first = await listenTo(server);
  const { id } = (await first.next())!;
  await first.leave();
  const again = await listenTo(server, { 'last-event-id': id! });
  const other = await listenTo(server, { 'last-event-id': 'of another server' });
  expect((await other.next())!.id).toBe(id);
  await enqueued('post');
  await sampled(database.admin);
  for (const { next } of [again, other]) expect((await next())!.data.pairs).toHaveLength(2);
});

test('whoever comes after all others have gone gets the figures, too', async () => {
  const server = open();
  const first = await listenTo(server);
  await first.next();
  // While the server waits for its next look, a second later; then it sees that none listens.
  await sleep(0);
  await first.leave();
  await sleep(1500);
  const second = await listenTo(server);
  expect((await second.next())!.event).toBe('stats');
});

test('fifty listeners cost at most a statement a second', async () => {
  const pool = new pg.Pool({ connectionString: database.url });
  // Its sessions may still be open when the next test begins, which ends them.
  pool.on('error', () => {});
  let statements = 0;
  const counting = {
    query: (statement: never) => {
      statements += 1;
      return pool.query(statement);
    },
  };
  try {
    // One that takes writes looks for operations, too.
    const server = open({ pool: counting, databaseUrl: undefined, write: false } as object);
    await sampled(database.admin);
    const began = performance.now();
    const streams = await Promise.all(Array.from({ length: 50 }, () => listenTo(server)));
    for (let samples = 0; samples < 3; samples += 1) {
      for (const { next } of streams) expect((await next())!.event).toBe('stats');
      await sampled(database.admin);
    }
    expect(statements).toBeLessThanOrEqual(1 + (performance.now() - began) / 1000);
  } finally {
    await pool.end();
  }
});

test('without a database it says so once, and goes on when it is back', async () => {
  const way = await openWay(database.directUrl);
  const errors: unknown[] = [];
  try {
    const server = open({ databaseUrl: way.url, onError: (error) => errors.push(error) });
    await sampled(database.admin);
    const { next } = await listenTo(server);
    const { id } = (await next())!;
    way.cut();
    expect(await next()).toMatchObject({ event: 'trouble', data: { code: 'unavailable' } });
    const asked = way.asked();
    await expect.poll(way.asked).toBeGreaterThan(asked + 1);
    way.heal();
    expect(await next()).toMatchObject({ event: 'stats', id });
    expect(errors).toHaveLength(1);
  } finally {
    await way.close();
  }
});

test('a caller for some queues gets these alone, beside those who get others', async () => {
  const server = open({ authorize: () => null });
  await enqueued('mail');
  await enqueued('post');
  await sampled(database.admin);
  const streams = [];
  for (const queues of [undefined, ['mail*'], ['post'], ['none']]) {
    const bearer = await token({ role: 'viewer', ...(queues && { queues }) });
    streams.push(await listenTo(server, { authorization: `Bearer ${bearer}` }));
  }
  const seen = await Promise.all(
    streams.map(async ({ next }) => {
      const { pairs, workers } = (await next())!.data;
      return [pairs.map(({ queue }: { queue: string }) => queue).sort(), workers === null];
    }),
  );
  expect(seen).toEqual([
    [['mail', 'post'], false],
    [['mail'], true],
    [['post'], true],
    [[], true],
  ]);
});

test('the stream of a token ends when it is revoked, and others go on', async () => {
  const server = open({ authorize: () => null });
  await sampled(database.admin);
  const listening = async () => {
    const stream = await listenTo(server, {
      authorization: `Bearer ${await token({ role: 'viewer' })}`,
    });
    await stream.next();
    return stream;
  };
  const [revoked, kept] = [await listening(), await listening()];
  await database.admin.rows(
    'delete from taskq.tokens where name = (select name from taskq.tokens order by created_at desc offset 1 limit 1)',
  );
  expect(await revoked.next()).toBeUndefined();
  await sampled(database.admin);
  expect((await kept.next())!.event).toBe('stats');
});

test('at an address, a client that leaves and a server that closes end the streams', async () => {
  const server = open();
  await sampled(database.admin);
  const { origin, close } = await listen(server.fetch, { host: '127.0.0.1', port: 0 });
  const [leaving, staying] = [await listenTo(origin), await listenTo(origin)];
  expect((await leaving.next())!.event).toBe('stats');
  await leaving.leave();
  expect((await staying.next())!.event).toBe('stats');
  await Promise.all([close(), server.close()]);
  expect(await staying.next()).toBeUndefined();
  expect((await ask('GET', '/api/v1/live', { server })).status).toBe(503);
});

test('five hundred listen at most, and others are still answered', async () => {
  const server = open();
  const streams = await Promise.all(Array.from({ length: 500 }, () => listenTo(server)));
  expect(await ask('GET', '/api/v1/live', { server })).toMatchObject({ status: 503, body: { code: 'busy' } });
  expect((await ask('GET', '/api/v1/stats', { server })).status).toBe(200);
  await streams[0]!.leave();
  expect((await ask('GET', '/api/v1/live', { server })).status).toBe(200);
});

test('a request for the head alone takes no place', async () => {
  const server = open();
  for (let n = 0; n < 501; n += 1) {
    const { status, body } = await server.fetch(
      new Request('http://localhost/api/v1/live', { method: 'HEAD' }),
    );
    expect({ status, body }).toEqual({ status: 200, body: null });
  }
  expect((await listenTo(server)).status).toBe(200);
});

test('a client that takes nothing misses all events but the last', async () => {
  const stream = new EventStream(() => {});
  for (let n = 0; n < 1000; n += 1) stream.send(eventOf('stats', `${n}`));
  stream.beat();
  stream.end();
  const text = await new Response(stream.body).text();
  expect(text).toBe('retry: 2000\n\n');
  const other = new EventStream(() => {});
  const reader = other.body.getReader();
  for (let n = 0; n < 1000; n += 1) other.send(eventOf('stats', `${n}`));
  const read = async () => new TextDecoder().decode((await reader.read()).value);
  expect([await read(), await read()]).toEqual(['retry: 2000\n\n', 'event: stats\ndata: 999\n\n']);
  const waiting = read();
  other.beat();
  expect(await waiting).toBe(':\n\n');
});
