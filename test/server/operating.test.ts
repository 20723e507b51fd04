import { expect, test } from 'vitest';
import { useServer } from './use-server.ts';

const { database, open, ask, token } = useServer();
const API = '/api/v1';

test('a queue is set, paused and resumed, by whoever the caller is', async () => {
  open();
  const path = `${API}/queues/mail`;
  expect((await ask('GET', path)).status).toBe(404);
  expect(
    (await ask('PATCH', path, { body: { maxRunning: 3, timeout: '5m', rate: '10/1s' } })).body,
  ).toMatchObject({
    ...{ name: 'mail', maxRunning: 3, timeoutMs: 300_000, rate: '10/1s' },
  });
  const misfits = await ask('PATCH', path, { body: { maxRunning: 0, rate: 'fast', retention: '1d' } });
  expect(misfits).toMatchObject({ status: 400, body: { code: 'bad_setting' } });
  expect(misfits.body.errors.map(({ pointer }: { pointer: string }) => pointer)).toEqual([
    '/maxRunning',
    '/rate',
  ]);
  expect((await ask('PATCH', path, { body: { maxRunnin: 1 } })).body.errors[0].pointer).toBe('/maxRunnin');
  expect((await ask('PATCH', path, { body: { maxRunning: null } })).body).toMatchObject({
    ...{ maxRunning: null, retention: null, timeoutMs: 300_000 },
  });
  expect((await ask('POST', `${path}/pause`, { body: { reason: 'x', for: '1h' } })).body).toMatchObject({
    pauseReason: 'x',
    pausedBy: expect.stringContaining('ann'),
  });
  expect((await ask('POST', `${path}/pause`, { body: { for: '0s' } })).status).toBe(400);
  expect((await ask('POST', `${path}/resume`)).body).toEqual({ resumed: true });
  expect((await ask('POST', `${path}/resume`, { body: {} })).body).toEqual({ resumed: false });
  expect(await database.admin.rows('select distinct by from taskq.audit')).toEqual([{ by: 'ann' }]);
});

test('the audit has the reason that a request gives: in the body, or as a parameter of DELETE', async () => {
  open();
  const id = (await ask('POST', `${API}/tasks`, { body: { type: 'work', delay: '1h' } })).body.id;
  for (const [method, path, body] of [
    ['PATCH', 'queues/mail', { maxRunning: 3, reason: 'slow provider' }],
    ['PATCH', `tasks/${id}`, { priority: 1, reason: 'asked for' }],
    ['POST', `tasks/${id}/retry`, { reason: 'now' }],
    ['POST', `tasks/${id}/cancel`, { reason: 'over' }],
    ['PUT', 'types/other', { reason: 'soon' }],
    ['POST', 'queues/mail/resume', { reason: '' }],
    ['POST', 'queues/mail/pause', {}],
    ['DELETE', 'types/other?reason=unused', undefined],
  ] as const) {
    const { status } = await ask(method, `${API}/${path}`, body === undefined ? {} : { body });
    expect([method, path, status < 300]).toEqual([method, path, true]);
  }
  const rows = await database.admin.rows<{ verb: string; reason: string | null }>(
    'select verb, reason from taskq.audit order by id',
  );
  expect(rows.map(({ verb, reason }) => [verb, reason])).toEqual([
    ['set', 'slow provider'],
    ['edit', 'asked for'],
    ['retry', 'now'],
    ['cancel', 'over'],
    ['add', 'soon'],
    ['pause', null],
    ['remove', 'unused'],
  ]);
  expect(await ask('PATCH', `${API}/queues/mail`, { body: { maxRunning: 4, reason: 5 } })).toMatchObject({
    status: 400,
    body: { errors: [{ pointer: '/reason' }] },
  });
  expect(
    await ask('PATCH', `${API}/queues/mail`, { body: { maxRunning: 4, reason: 'x'.repeat(1001) } }),
  ).toMatchObject({ status: 400, body: { detail: expect.stringContaining('at most 1000 characters') } });
  expect((await ask('POST', `${API}/queues/mail/pause`, { body: { reason: 'x'.repeat(1001) } })).status).toBe(
    400,
  );
  expect((await ask('GET', `${API}/queues/mail`)).body).toMatchObject({ maxRunning: 3, pauseReason: null });
});

test('limits are listed, shown and changed alone', async () => {
  open();
  const limits = `${API}/limits`;
  const path = `${limits}/a%2Fb`;
  expect((await ask('GET', path)).status).toBe(404);
  await ask('PATCH', `${API}/queues/plain`, { body: { timeout: '5m' } });
  const none = { rate: null, burst: null, groupLimit: null, groupRate: null, groupBurst: null };
  expect((await ask('PATCH', path, { body: { maxRunning: 3 } })).body).toEqual({
    ...{ queue: 'a/b', maxRunning: 3, ...none },
  });
  expect((await ask('PATCH', path, { body: { rate: '5/1s', groupLimit: 2 } })).body).toMatchObject({
    ...{ maxRunning: 3, rate: '5/1s', groupLimit: 2 },
  });
  const before = (await ask('GET', path)).body;
  expect((await ask('GET', limits)).body).toEqual({ limits: [before] });
  const server = open({ authorize: () => ({ role: 'viewer', by: 'shop', queues: ['mail'] }) });
  expect((await ask('GET', limits, { server })).body).toEqual({ limits: [] });
  open();
  for (const body of [{ maxRunning: 0 }, { rate: 'fast' }, { timeout: '1m' }, { maxRunning: 1, burst: 0 }])
    expect((await ask('PATCH', path, { body })).status).toBe(400);
  expect((await ask('GET', path)).body).toEqual(before);
  await ask('PATCH', path, { body: { maxRunning: null, rate: null, groupLimit: null } });
  expect((await ask('GET', limits)).body).toEqual({ limits: [] });
  expect((await ask('GET', path)).body).toEqual({ queue: 'a/b', maxRunning: null, ...none });
});

test('a group is limited, paused and resumed', async () => {
  open();
  const path = `${API}/queues/mail/groups/ann`;
  await ask('POST', `${API}/tasks`, { body: { type: 'work', queue: 'mail', group: 'ann' } });
  expect((await ask('PATCH', path, { body: { limit: 2 } })).status).toBe(200);
  expect((await ask('POST', `${path}/pause`, { body: { reason: 'x' } })).status).toBe(200);
  expect((await ask('GET', `${API}/queues/mail/groups`)).body.groups).toMatchObject([
    { name: 'ann', groupLimit: 2, pauseReason: 'x' },
  ]);
  expect((await ask('POST', `${path}/resume`)).body).toEqual({ resumed: true });
  expect((await ask('GET', path)).status).toBe(200);
});

test('a type becomes known, is set, and is removed; its breaker is closed', async () => {
  open();
  const path = `${API}/types/report%2Fweekly`;
  expect((await ask('PUT', path)).status).toBe(201);
  expect((await ask('PUT', path)).status).toBe(200);
  expect((await ask('PATCH', path, { body: { priority: 'high', queue: 'mail' } })).body).toMatchObject({
    ...{ name: 'report/weekly', priority: 1, queue: 'mail' },
  });
  expect((await ask('POST', `${path}/resume`)).body).toEqual({ resumed: false });
  expect((await ask('GET', `${API}/types/report%2Fweekli`)).body.nearest).toEqual(['report/weekly']);
  expect((await ask('DELETE', path)).body).toEqual({ answer: 'removed' });
  expect((await ask('DELETE', path)).status).toBe(404);
});

test('defaults are shown and set', async () => {
  open();
  expect(
    (await ask('PATCH', `${API}/defaults`, { body: { maxAttempts: 7 } })).body.maxAttempts,
  ).toMatchObject({
    value: 7,
  });
  expect((await ask('PATCH', `${API}/defaults`, { body: { maxAttempts: null } })).status).toBe(200);
  expect((await ask('GET', `${API}/defaults`)).body.maxAttempts).not.toMatchObject({ value: 7 });
});

test('a worker is set, paused, resumed and stopped; one that has ended is not', async () => {
  open();
  const id = await database.admin.value<string>(
    `insert into taskq.workers
       (id, name, host, pid, unique_part, started_at, heartbeat_at, lease_ms, concurrency, types)
     values (7, 'one:1:x', 'one', 1, 'x', clock_timestamp(), clock_timestamp(), 60000, 4, '{work}')
     returning id::text`,
  );
  const path = `${API}/workers/${id}`;
  expect((await ask('GET', `${API}/workers`)).body.workers).toMatchObject([{ id, concurrency: 4 }]);
  expect(
    (await ask('PATCH', path, { body: { concurrency: 9, poll: '2s', queues: ['mail'] } })).body,
  ).toMatchObject({
    ...{ concurrency: 9, pollMs: 2000, queues: ['mail'] },
  });
  expect((await ask('PATCH', path, { body: { concurrency: 0 } })).status).toBe(400);
  expect((await ask('POST', `${path}/pause`)).body).toEqual({ paused: true });
  expect((await ask('POST', `${path}/resume`)).body).toEqual({ resumed: true });
  expect((await ask('POST', `${path}/stop`)).body).toEqual({ asked: true });
  await database.admin.rows('update taskq.workers set stopped_at = clock_timestamp()');
  expect((await ask('POST', `${path}/pause`)).body).toMatchObject({ code: 'wrong_state', state: 'stopped' });
});

test('a schedule is created, replaced, run, paused, resumed and removed', async () => {
  open();
  const path = `${API}/schedules/nightly`;
  const body = { expression: '@daily', type: 'work', payload: { n: 1 }, queue: 'mail' };
  expect((await ask('PUT', path, { body })).status).toBe(201);
  expect((await ask('PUT', path, { body: { ...body, tz: 'Europe/Berlin' } })).status).toBe(200);
  expect((await ask('GET', path)).body).toMatchObject({
    name: 'nightly',
    tz: 'Europe/Berlin',
    payload: { n: 1 },
  });
  expect((await ask('PUT', path, { body: { ...body, expression: 'when' } })).status).toBe(400);
  const exact = JSON.stringify({ ...body, payload: 'P' }).replace('"P"', '{"n":12345678901234567890}');
  expect((await ask('PUT', path, { text: exact })).status).toBe(200);
  expect(await database.admin.value('select payload::text from taskq.list_schedules()')).toBe(
    '{"n": 12345678901234567890}',
  );
  expect(await ask('POST', `${path}/run`)).toMatchObject({ status: 201, body: { created: true } });
  expect((await ask('POST', `${path}/pause`, { body: { reason: 'x' } })).body.pauseReason).toBe('x');
  expect((await ask('POST', `${path}/resume`)).body).toEqual({ resumed: true });
  expect((await ask('GET', `${API}/schedules`)).body).toMatchObject({
    schedules: [{ name: 'nightly' }],
    after: null,
  });
  expect((await ask('DELETE', path)).body).toEqual({ removed: true });
  for (const verb of ['pause', 'resume', 'run'])
    expect((await ask('POST', `${path}/${verb}`)).status).toBe(404);
});

test('the next ticks of a schedule are shown, and those that another expression would give', async () => {
  open();
  const path = `${API}/schedules/half%20past`;
  await ask('PUT', path, {
    body: { expression: '30 2 * * *', tz: 'Asia/Kolkata', type: 'work', jitter: '10m' },
  });
  const { body } = await ask('GET', `${path}/preview?count=3`);
  expect(body).toMatchObject({ expression: '30 2 * * *', tz: 'Asia/Kolkata' });
  expect(body.ticks).toHaveLength(3);
  for (const { tick, local, due } of body.ticks) {
    expect([tick.slice(10), local.slice(14)]).toEqual(['T21:00:00.000Z', ' 02:30:00 +05:30']);
    expect(Date.parse(due) - Date.parse(tick)).toBeLessThan(600_000);
  }
  expect((await ask('GET', `${path}/preview`)).body.ticks).toHaveLength(5);
  const query = 'expression=0%206%20*%20*%20*&tz=Europe/Berlin&count=1';
  const other = (await ask('GET', `${API}/schedules/new/preview?${query}`)).body;
  expect(other).toMatchObject({
    tz: 'Europe/Berlin',
    ticks: [{ local: expect.stringContaining('06:00:00') }],
  });
  for (const wrong of ['expression=when', 'expression=@daily&tz=Mars', 'count=0', 'count=101'])
    expect((await ask('GET', `${path}/preview?${wrong}`)).status).toBe(400);
  expect((await ask('GET', `${API}/schedules/none/preview`)).status).toBe(404);
});

test('a token is revoked: the next request with it is refused', async () => {
  open({ authorize: () => null });
  const [admin, other] = [await token({ role: 'admin' }), await token()];
  const names = async () =>
    (await ask('GET', `${API}/tokens`, { token: admin })).body.tokens.map(
      ({ name }: { name: string }) => name,
    );
  expect(await names()).toEqual([admin, other]);
  expect((await ask('GET', `${API}/queues`, { token: other })).status).toBe(200);
  const path = `${API}/tokens/${other}/revoke`;
  expect((await ask('POST', path, { token: admin })).body).toEqual({ revoked: true });
  expect((await ask('GET', `${API}/queues`, { token: other })).status).toBe(401);
  expect((await ask('POST', path, { token: admin })).status).toBe(404);
  expect(await names()).toEqual([admin]);
});

test('a workflow is shown, closed, cancelled and awaited', async () => {
  open();
  await database.admin.rows(
    `select taskq.run_workflow('{"name": "ship", "open": true, "steps": [{"step": "a", "type": "work"}]}')`,
  );
  const list = (await ask('GET', `${API}/workflows?state=open`)).body.workflows;
  expect(list).toMatchObject([{ name: 'ship', isOpen: true }]);
  const path = `${API}/workflows/${list[0].id}`;
  expect((await ask('GET', path)).body.steps).toMatchObject([{ step: 'a', type: 'work' }]);
  expect((await ask('GET', `${path}/wait?timeout=1ms`)).status).toBe(202);
  expect((await ask('POST', `${path}/close`)).body).toEqual({ closed: true });
  expect((await ask('POST', `${path}/retry`)).body).toEqual({ steps: [] });
  expect((await ask('POST', `${path}/cancel`, { body: { reason: 'x' } })).status).toBe(200);
});

test('a workflow is started, all or nothing, and a step added to it while it is open', async () => {
  open();
  await database.admin.rows("select taskq.add_types('{work}')");
  const path = `${API}/workflows`;
  const steps = [
    { step: 'a', type: 'work', payload: { n: 1 } },
    { step: 'b', type: 'work', after: ['a'], onDeath: 'continue', priority: 'high' },
    { step: 'c', type: 'work', after: ['a', { step: 'b', onDeath: 'wait' }] },
  ];
  const started = await ask('POST', path, {
    body: { name: 'ship', open: true, maxDead: 1, onEnd: 'work', steps },
  });
  expect(started.status).toBe(201);
  const { id, tasks } = started.body;
  expect(Object.keys(tasks).sort()).toEqual(['a', 'b', 'c']);
  const added = { type: 'work', workflow: id, step: 'd', after: ['c'] };
  expect((await ask('POST', `${API}/tasks`, { body: added })).status).toBe(201);
  const shown = (await ask('GET', `${path}/${id}`)).body;
  expect(shown).toMatchObject({ name: 'ship', isOpen: true, maxDead: 1, onEnd: { type: 'work' } });
  expect(shown.steps.map(({ step }: { step: string }) => step).sort()).toEqual(['a', 'b', 'c', 'd']);

  const count = () => database.admin.value('select count(*)::int from taskq.workflows');
  const before = await count();
  const refused = async (body: object, status = 400) => {
    const answer = await ask('POST', path, { body });
    expect(answer.status).toBe(status);
    return answer.body;
  };
  const [a] = steps;
  expect((await refused({ steps })).errors).toMatchObject([{ pointer: '/name' }]);
  expect((await refused({ name: 'w', steps: [a, { type: 'work' }] })).errors).toMatchObject([
    { pointer: '/steps/1/step' },
  ]);
  expect((await refused({ name: 'w', steps: [a, { ...a, step: 'b', delay: 'soon' }] })).errors).toMatchObject(
    [{ pointer: '/steps/1/delay' }],
  );
  expect((await refused({ name: 'w', steps: [{ ...a, after: ['a'] }] })).detail).toContain('"a"');
  expect((await refused({ name: 'w', steps: [a, a] })).detail).toContain('"a"');
  expect((await refused({ name: 'w', maxDead: -1, steps: [a] })).detail).toContain('maxDead');
  expect((await refused({ name: 'w', steps: [{ step: 'x', type: 'wrok' }] }, 422)).nearest).toEqual(['work']);
  expect((await ask('POST', `${API}/tasks`, { body: { ...added, workflow: '999' } })).status).toBe(400);
  expect(await count()).toBe(before);

  const limited = open({ authorize: () => ({ role: 'producer', by: 'shop', queues: ['mail'] }) });
  for (const [method, where, body] of [
    ['POST', `${API}/tasks`, { ...added, step: 'e', queue: 'mail' }],
    ['POST', path, { name: 'w', steps }],
  ] as const)
    expect((await ask(method, where, { server: limited, body })).body.code).toBe('other_queue');
});

test('events are read from a position on', async () => {
  open();
  await ask('PATCH', `${API}/queues/mail`, { body: { recordEvents: true } });
  const { after } = (await ask('GET', `${API}/events?after=now`)).body;
  const { id } = (await ask('POST', `${API}/tasks`, { body: { type: 'work', queue: 'mail' } })).body;
  await ask('POST', `${API}/tasks/${id}/cancel`);
  const read = await ask('GET', `${API}/events?after=${encodeURIComponent(after)}`);
  expect(read.body.events).toMatchObject([{ id, queue: 'mail', status: 'cancelled' }]);
  const next = encodeURIComponent(read.body.after);
  expect((await ask('GET', `${API}/events?after=${next}`)).body.events).toEqual([]);
  expect((await ask('GET', `${API}/events?after=nonsense`)).status).toBe(400);
});

test.each(['a/b', '.', '..', '~', '~x', '100%', 'ä ö', 'a?b#c', '%2F', '__proto__', '<script>', '\u{1f600}'])(
  'the name %j survives in a path',
  async (name) => {
    open();
    const segment = /^(~|\.\.?$)/.test(name) ? `~${encodeURIComponent(name)}` : encodeURIComponent(name);
    expect((await ask('POST', `${API}/queues/${segment}/pause`)).body.name).toBe(name);
    expect((await ask('GET', `${API}/queues/${segment}`)).body.name).toBe(name);
  },
);

test.each(['~', '%00', 'x'.repeat(201), '%ff'])('the queue %j is refused', async (segment) => {
  open();
  expect((await ask('POST', `${API}/queues/${segment}/pause`)).status).toBe(400);
  expect(await database.admin.value('select count(*)::int from taskq.queues')).toBe(0);
});

test.each(['workers/a%00', "dead/groups/'%00"])('a NUL in the path %s is refused', async (path) => {
  open();
  expect((await ask('GET', `${API}/${path}`)).body).toMatchObject({ status: 400, code: 'bad_name' });
});

test('a path that does not exist is 404, and a method that it does not take 405', async () => {
  open();
  expect((await ask('GET', '/api/v1/nowhere')).body.code).toBe('not_found');
  const wrong = await ask('DELETE', `${API}/tasks`);
  expect(wrong).toMatchObject({ status: 405, body: { code: 'method_not_allowed' } });
  expect(wrong.headers.get('allow')).toBe('POST, GET');
});
