import { beforeEach, expect, test } from 'vitest';
import { startOperation } from '../../src/queue/operate/operations.ts';
import { enqueueSome } from '../queue/rows.ts';
import { claimOne, outcome, registerWorker } from '../queue/worker.ts';
import { useServer } from './use-server.ts';

const { database, open, ask, token } = useServer();
const API = '/api/v1';
const path = `${API}/operations`;

/** Two letters in each of these queues. */
beforeEach(async () => {
  for (const queue of ['mail', 'reports']) {
    const tasks = JSON.stringify([{ type: 'work' }, { type: 'work', payload: { n: 1 } }]);
    await database.admin.rows(
      `select taskq.add_dead(e.id, 'r') from taskq.enqueue_many($1, $2) as e`,
      tasks,
      JSON.stringify({ queue }),
    );
  }
  await database.admin.rows('update taskq.dead_tasks set by_hand = false');
});

test('an operation is tried, started, shown, listed, and carried on by the server', async () => {
  open();
  const filter = { queue: 'mail', type: 'work', status: ['dead'] };
  const given = { verb: 'revive', filter, reason: 'mended', patch: { to: null, n: 2 } };
  const dry = await ask('POST', path, { body: { ...given, dryRun: true } });
  expect(dry).toMatchObject({ status: 200, body: { matched: 2, atLeast: false } });
  expect(dry.body.ids).toHaveLength(2);
  const unexpected = await ask('POST', path, { body: { ...given, expect: 3 } });
  expect(unexpected).toMatchObject({ status: 409, body: { code: 'unexpected_matches' } });
  const started = await ask('POST', path, {
    body: { ...given, expect: 2, canary: 1, rate: '5/1s', stopAt: '50%' },
  });
  expect(started).toMatchObject({
    status: 202,
    body: {
      ...{ verb: 'revive', state: 'canary', matched: 2, done: 0, deadAgain: 0, by: 'ann', reason: 'mended' },
      ...{ rate: '5/1s', canary: 1, stopAt: '50%', endedAt: null, stoppedBecause: null },
    },
  });
  const { id } = started.body;
  let shown = started;
  while (shown.body.done < 1) shown = await ask('GET', `${path}/${id}`);
  expect((await ask('GET', `${path}?state=canary&limit=1`)).body).toMatchObject({ operations: [{ id }] });
  expect(await database.admin.value('select payload from taskq.tasks')).toEqual({ n: 2 });
  expect((await ask('POST', `${path}/${id}/stop`, { body: { reason: 'enough' } })).body).toMatchObject({
    state: 'stopped',
    stoppedBecause: expect.stringMatching(/ann\): enough$/),
  });
  expect(await ask('POST', `${path}/${id}/stop`)).toMatchObject({
    status: 409,
    body: { code: 'wrong_state', state: 'stopped' },
  });
  expect((await ask('GET', `${path}/999999`)).status).toBe(404);
});

test('a server that was restarted goes on with what others have started', async () => {
  const id = (await startOperation(database.admin, { verb: 'discard', filter: {} })).id!;
  const server = open();
  let state = 'running';
  while (state === 'running') state = (await ask('GET', `${path}/${id}`, { server })).body.state;
  expect(state).toBe('completed');
  expect(await database.admin.value('select count(*)::integer from taskq.dead_tasks')).toBe(0);
});

test('only tasks with these values in their payloads are acted on', async () => {
  open();
  const start = (payload: object) =>
    ask('POST', path, { body: { verb: 'discard', filter: { queue: 'mail', payload } } });
  const started = await start({ n: 1 });
  expect(started.body).toMatchObject({ matched: 1 });
  let { state } = started.body;
  while (state === 'running') state = (await ask('GET', `${path}/${started.body.id}`)).body.state;
  expect(await database.admin.value("select payload from taskq.dead_tasks where queue = 'mail'")).toEqual({});
  expect(await start({})).toMatchObject({ status: 400, body: { code: 'bad_option' } });
});

test.each([true, 'true'])(
  'only tasks whose last attempt failed are acted on, with failed: %j',
  async (failed) => {
    open();
    const ids = await enqueueSome(database.admin, 3, { queue: 'mail' });
    const worker = await registerWorker(database.admin);
    await worker.settle(
      outcome(await claimOne(worker, { queues: ['mail'] }), 'failed', { delay_ms: 60_000 }),
    );
    const body = { verb: 'cancel', filter: { queue: 'mail', failed }, dryRun: true };
    expect((await ask('POST', path, { body })).body).toEqual({
      matched: 1,
      atLeast: false,
      ids: ids.slice(0, 1),
    });
  },
);

test('named tasks are acted on', async () => {
  open();
  const ids = (
    await database.admin.rows<{ id: string }>('select id from taskq.dead_tasks order by id limit 1')
  ).map((row) => row.id);
  expect((await ask('POST', path, { body: { verb: 'discard', filter: { ids } } })).body).toMatchObject({
    matched: 1,
    filter: { ids },
  });
});

test('a server that only reads lists operations, and advances none', async () => {
  await startOperation(database.admin, { verb: 'discard', filter: {} });
  open({ write: false });
  expect((await ask('GET', path)).body).toMatchObject({ operations: [{ state: 'running', done: 0 }] });
  expect((await ask('POST', path, { body: { verb: 'discard', filter: { queue: 'mail' } } })).status).toBe(
    403,
  );
});

test('a token for some queues starts, sees and stops operations of these alone', async () => {
  const server = open({ authorize: () => null });
  const limited = await token({ role: 'operator', queues: ['mail*'] });
  const other = (
    await startOperation(database.admin, { verb: 'revive', filter: { queue: 'reports' }, rate: '1/1h' })
  ).id!;
  const asking = (filter: object) => ({
    server,
    token: limited,
    body: { verb: 'revive', filter, rate: '1/1h' },
  });
  const mine = await ask('POST', path, asking({ queue: 'mail' }));
  expect(mine.status).toBe(202);
  expect(await ask('POST', path, asking({ queue: 'reports' }))).toMatchObject({
    status: 403,
    body: { code: 'other_queue' },
  });
  const away = { verb: 'edit', filter: { queue: 'mail' }, changes: { queue: 'reports' } };
  expect((await ask('POST', path, { server, token: limited, body: away })).status).toBe(403);
  expect((await ask('POST', path, asking({ type: 'work' }))).status).toBe(400);
  expect((await ask('POST', path, asking({ ids: ['1'] }))).status).toBe(400);
  const listed = (await ask('GET', path, { server, token: limited })).body.operations;
  expect(listed.map(({ id }: { id: string }) => id)).toEqual([mine.body.id]);
  expect((await ask('GET', `${path}/${other}`, { server, token: limited })).status).toBe(404);
  expect((await ask('POST', `${path}/${other}/stop`, { server, token: limited, body: {} })).status).toBe(404);
});

test.each([
  [{ verb: 'revive' }, '/filter'],
  [{ verb: 'explode', filter: {} }, '/verb'],
  [{ verb: 'revive', filter: { colour: 'red' } }, '/filter/colour'],
  [{ verb: 'revive', filter: { ids: ['x'] } }, undefined],
  [{ verb: 'revive', filter: {} }, undefined],
  [{ verb: 'edit', filter: { queue: 'mail' } }, undefined],
  [{ verb: 'edit', filter: { queue: 'mail' }, changes: { colour: 1 } }, '/changes/colour'],
  [{ verb: 'revive', filter: { status: 'running' } }, undefined],
  [{ verb: 'revive', filter: { queue: 'mail' }, stopAt: 'half' }, undefined],
  [{ verb: 'purge', filter: { queue: 'mail' }, canary: 3 }, undefined],
  [{ verb: 'revive', filter: { queue: 'mail' }, patch: [1] }, '/patch'],
  [{ verb: 'cancel', filter: { fingerprint: 'f3' } }, undefined],
  [{ verb: 'cancel', filter: { queue: 'mail', failed: 'True' } }, '/filter/failed'],
  [{ verb: 'cancel', filter: { queue: 'mail', failed: false } }, '/filter/failed'],
  [{ verb: 'cancel', filter: { queue: 'mail', tag: ['a=1', 'a=2'] } }, 'tag'],
])('refuses %j', async (body, pointer) => {
  open();
  const answer = await ask('POST', path, { body });
  expect(answer.status).toBe(400);
  if (pointer !== undefined) expect(answer.body.errors[0].pointer).toBe(pointer);
  expect(await database.admin.value('select count(*)::integer from taskq.operations')).toBe(0);
});
