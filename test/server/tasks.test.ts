import { expect, test } from 'vitest';
import { waitUntilBlocked } from '../queue/waiting.ts';
import { useServer } from './use-server.ts';

const { database, open, ask, token } = useServer();
const API = '/api/v1';

const enqueued = async (body: object = {}) =>
  (await ask('POST', `${API}/tasks`, { body: { type: 'work', ...body } })).body.id as string;

test('a task is enqueued, read, listed and cancelled', async () => {
  open();
  const payload = { to: 'ann', at: [1, { deep: null }] };
  const made = await ask('POST', `${API}/tasks`, {
    body: { type: 'work', payload, queue: 'mail', delay: '1h', tags: { of: 'a=b' } },
  });
  expect(made).toMatchObject({ status: 201, body: { created: true, answer: 'created', nextId: null } });
  const { id } = made.body;
  const shown = await ask('GET', `${API}/tasks/${id}`);
  expect(shown.body).toMatchObject({
    id,
    queue: 'mail',
    status: 'pending',
    payload,
    errors: [],
    actions: [],
  });
  const listed = await ask('GET', `${API}/tasks?queue=mail&status=pending&status=running&tag=of=a=b`);
  expect(listed.body).toMatchObject({ tasks: [{ id }], after: null });
  expect((await ask('GET', `${API}/tasks?queue=other`)).body.tasks).toEqual([]);
  const at = 'payload.at.1.deep=&payload.to=ann';
  expect((await ask('GET', `${API}/tasks?${at}`)).body.tasks).toEqual([]);
  expect((await ask('GET', `${API}/tasks?payload.at.0=1&payload.to=ann`)).body).toMatchObject({
    ...{ tasks: [{ id }], after: null, lookedBackTo: null },
  });
  expect(await ask('GET', `${API}/tasks?payload=ann`)).toMatchObject({
    ...{
      status: 400,
      body: { errors: [{ pointer: 'payload', detail: expect.stringContaining('payload.order.id') }] },
    },
  });
  expect((await ask('GET', `${API}/tasks/${id}/explain`)).body.causes).toMatchObject([
    { cause: 'delayed' },
    {},
  ]);
  expect(await ask('POST', `${API}/tasks/${id}/retry`)).toMatchObject({
    status: 200,
    body: { answer: 'retried' },
  });
  const cancelled = await ask('POST', `${API}/tasks/${id}/cancel`, { body: { reason: 'late' } });
  expect(cancelled.body).toMatchObject({ id, answer: 'cancelled' });
  expect((await ask('GET', `${API}/tasks/${id}/wait`)).body).toMatchObject({
    status: 'cancelled',
    reason: 'late',
  });
  expect(await ask('POST', `${API}/tasks/${id}/cancel`)).toMatchObject({
    status: 409,
    body: { code: 'wrong_state', state: 'cancelled' },
  });
  const again = await ask('POST', `${API}/tasks/${id}/rerun`, { body: {} });
  expect(again).toMatchObject({ status: 201, body: { newId: expect.stringMatching(/^\d+$/) } });
  expect((await ask('POST', `${API}/tasks/${id}/purge`)).body).toMatchObject({
    answer: 'purged',
    heldKey: null,
  });
  expect((await ask('GET', `${API}/tasks/${id}`)).status).toBe(404);
  expect(await database.admin.rows('select verb, by from taskq.audit order by id')).toEqual(
    ['retry', 'cancel', 'rerun', 'purge'].map((verb) => ({ verb, by: 'ann' })),
  );
});

test('a task that waits is changed, and one that does not stays as it is', async () => {
  open();
  const id = await enqueued({ payload: { n: 1 }, key: 'k' });
  const changed = await ask('PATCH', `${API}/tasks/${id}`, {
    text: '{"payload":{"n":9007199254740993},"priority":"high","queue":"mail","delay":"1h"}',
  });
  expect(changed).toMatchObject({ status: 200, body: { id, answer: 'edited' } });
  const row =
    'select payload::text, priority, queue, not_before > clock_timestamp() as waits from taskq.tasks';
  expect(await database.admin.row(row)).toEqual({
    ...{ payload: '{"n": 9007199254740993}', priority: 1, queue: 'mail', waits: true },
  });
  const problems = async (body: object) => (await ask('PATCH', `${API}/tasks/${id}`, { body })).body;
  expect(await problems({})).toMatchObject({ status: 400, code: 'bad_option' });
  expect(await problems({ priority: 11 })).toMatchObject({ status: 400, code: 'bad_priority' });
  expect(await problems({ key: 'j' })).toMatchObject({ status: 400, code: 'bad_option' });
  expect(await problems({ payload: 'x'.repeat(1_048_576) })).toMatchObject({
    status: 422,
    code: 'invalid_payload',
  });
  const holder = await enqueued({ key: 'k' });
  expect(await problems({ queue: 'default' })).toMatchObject({
    status: 409,
    code: 'key_held',
    key: 'k',
    holder,
  });
  await database.admin.rows("update taskq.tasks set expires_at = clock_timestamp() + interval '2 h'");
  expect(await problems({ delay: '3h' })).toMatchObject({ status: 422, code: 'refused' });
  const other = await database.session();
  await other.rows('begin');
  await other.rows('select from taskq.tasks for update');
  expect(await problems({ priority: 1 })).toMatchObject({ status: 503, code: 'unavailable' });
  await other.rows('rollback');
  await database.admin.rows('select taskq.cancel($1)', [id]);
  expect(await problems({ priority: 1 })).toMatchObject({
    status: 409,
    code: 'wrong_state',
    state: 'cancelled',
  });
  expect(await ask('PATCH', `${API}/tasks/999999`, { body: { priority: 1 } })).toMatchObject({ status: 404 });
  expect(await database.admin.rows("select by from taskq.audit where verb = 'edit'")).toEqual([
    { by: 'ann' },
  ]);
});

test('a dead letter is revived with another payload, or discarded', async () => {
  open();
  const dead = async () => {
    const id = await enqueued({ payload: { n: 1 } });
    await database.admin.value("select taskq.add_dead($1, 'by hand')", id);
    return id;
  };
  const id = await dead();
  expect((await ask('POST', `${API}/tasks/${id}/retry`)).body).toMatchObject({
    code: 'wrong_state',
    state: 'dead',
  });
  const revived = await ask('POST', `${API}/tasks/${id}/revive`, {
    text: '{"payload":{"n":9007199254740993}}',
  });
  expect(revived.body).toMatchObject({ answer: 'revived' });
  expect(await database.admin.value('select payload::text from taskq.tasks where id = $1', id)).toBe(
    '{"n": 9007199254740993}',
  );
  expect((await ask('POST', `${API}/tasks/${await dead()}/discard`)).body.answer).toBe('discarded');
});

test('a key that is held answers 200 with its holder', async () => {
  open();
  const id = await enqueued({ key: 'k' });
  expect(await ask('POST', `${API}/tasks`, { body: { type: 'work', key: 'k' } })).toMatchObject({
    status: 200,
    body: { id, created: false, answer: 'held' },
  });
});

test('many tasks are enqueued at once, all or none', async () => {
  open();
  const list = await ask('POST', `${API}/tasks`, { body: [{ type: 'work' }, { type: 'work', key: 'k' }] });
  expect(list).toMatchObject({ status: 201, body: { created: 2 } });
  const ndjson = { 'content-type': 'application/x-ndjson' };
  const text = '{"type":"work","key":"k"}\n\n{"type":"work","payload":{"id":9007199254740993}}\n';
  const lines = await ask('POST', `${API}/tasks`, { text, headers: ndjson });
  expect(lines).toMatchObject({
    status: 201,
    body: { created: 1, tasks: [{ answer: 'held' }, { answer: 'created' }] },
  });
  const before = await database.admin.value('select count(*)::int from taskq.tasks');
  const bad = await ask('POST', `${API}/tasks`, {
    body: [{ type: 'work' }, { type: 'work', delay: 'soon' }],
  });
  expect(bad).toMatchObject({
    status: 400,
    body: { code: 'bad_duration', errors: [{ pointer: '/1/delay' }] },
  });
  expect(await database.admin.value('select count(*)::int from taskq.tasks')).toBe(before);
  expect((await ask('POST', `${API}/tasks`, { body: [] })).body).toEqual({ created: 0, tasks: [] });
});

test('pages of tasks follow each other, and numbers are exact', async () => {
  open();
  const body = Array.from({ length: 5 }, () => ({ type: 'work' }));
  const { tasks } = (await ask('POST', `${API}/tasks`, { body })).body;
  const seen: string[] = [];
  let after: string | null = '';
  while (after !== null) {
    const page: { body: { tasks: { id: string }[]; after: string | null } } = await ask(
      'GET',
      `${API}/tasks?limit=2${after && `&after=${after}`}`,
    );
    seen.push(...page.body.tasks.map(({ id }) => id));
    after = page.body.after;
  }
  expect(seen).toEqual(tasks.map(({ id }: { id: string }) => id).reverse());
  const server = open();
  const sent = await ask('POST', `${API}/tasks`, {
    text: '{"type":"work","payload":9007199254740993}',
    server,
  });
  const answer = await server.fetch(new Request(`http://localhost${API}/tasks/${sent.body.id}`));
  expect(await answer.text()).toContain('"payload":9007199254740993');
});

test('a wait ends with the task, and answers 202 if it goes on', async () => {
  open();
  const id = await enqueued();
  expect(await ask('GET', `${API}/tasks/${id}/wait?timeout=1ms`)).toMatchObject({
    status: 202,
    body: { id, status: 'pending' },
  });
  const waiting = ask('GET', `${API}/tasks/${id}/wait`);
  await ask('POST', `${API}/tasks/${id}/cancel`);
  expect((await waiting).body).toMatchObject({ id, status: 'cancelled' });
  expect((await ask('GET', `${API}/tasks/999999999/wait`)).status).toBe(404);
});

const LONE = '"\\ud800"';
test.each<
  [what: string, text: string | Uint8Array<ArrayBuffer>, status: number, code: string, pointer?: string]
>([
  ['no JSON', '{"type":', 400, 'bad_json', ''],
  ['no UTF-8', new Uint8Array([0x22, 0xff, 0x22]), 400, 'bad_json', ''],
  ['no object', '7', 400, 'bad_option', ''],
  ['no type', '{}', 400, 'bad_option', '/type'],
  ['a type that is a number', '{"type":7}', 400, 'bad_option', '/type'],
  ['an unknown type', '{"type":"wrok"}', 422, 'unknown_type'],
  ['a path as its type', '{"type":"../../etc"}', 400, 'bad_name', '/type'],
  ['a prototype as its type', '{"type":"__proto__"}', 422, 'unknown_type'],
  ['an unknown option', '{"type":"work","dealy":"1s"}', 400, 'bad_option', '/dealy'],
  ['a prototype as an option', '{"type":"work","__proto__":{"delay":"1s"}}', 400, 'bad_option', '/__proto__'],
  ['a bad duration', '{"type":"work","delay":"soon"}', 400, 'bad_duration', '/delay'],
  ['an empty queue', '{"type":"work","queue":""}', 400, 'bad_name', '/queue'],
  ['a NUL in the payload', '{"type":"work","payload":{"a":["\\u0000"]}}', 400, 'bad_json', ''],
  [
    'a NUL that looks like a number',
    '{"type":"work","payload":"\\u000012345678901234567"}',
    400,
    'bad_json',
    '',
  ],
  ['a lone surrogate', `{"type":"work","payload":${LONE}}`, 400, 'bad_json', ''],
  [
    'too deep a payload',
    `{"type":"work","payload":${'['.repeat(65)}${']'.repeat(65)}}`,
    422,
    'invalid_payload',
    '/payload',
  ],
  [
    'a payload without end',
    `{"type":"work","payload":${'['.repeat(100_000)}${']'.repeat(100_000)}}`,
    400,
    'bad_json',
    '',
  ],
  [
    'too large a payload',
    `{"type":"work","payload":"${'x'.repeat(1_100_000)}"}`,
    422,
    'invalid_payload',
    '/payload',
  ],
  ['too large a body', 'x'.repeat(17 * 1024 * 1024), 413, 'too_large'],
])('of %s it says what is wrong, and stores nothing', async (_, text, status, code, pointer) => {
  open();
  const answer = await ask('POST', `${API}/tasks`, { text });
  expect(answer).toMatchObject({ status, body: { code } });
  if (pointer !== undefined) expect(answer.body.errors[0].pointer).toBe(pointer);
  if (String(text).includes('wrok')) expect(answer.body.nearest).toEqual(['work']);
  expect(await database.admin.value('select count(*)::int from taskq.tasks')).toBe(0);
  expect(({} as { delay?: unknown }).delay).toBeUndefined();
});

test.each([
  '?limit=0',
  '?limit=1001',
  '?limit=1&limit=2',
  '?staus=dead',
  '?status=daed',
  '?after=abc',
  '?tag=x',
  '?queue=%00',
  '?since=when',
  '?since=0000-01-01',
  '?after=-999999999999999999-1',
  '?tag=a=1&tag=a=2',
])('a list refuses %s', async (query) => {
  open();
  expect((await ask('GET', `${API}/tasks${query}`)).status).toBe(400);
});

test('what a list says does not depend on the queues that the caller may not see', async () => {
  open();
  await enqueued({ queue: 'other', key: 'guessed' });
  const mine = await enqueued({ queue: 'mail-1', key: 'own' });
  const asking = { token: await token({ role: 'viewer', queues: ['mail-*', 'a+b', 'x_z'] }) };
  const list = async (query: string) => (await ask('GET', `${API}/tasks?limit=1${query}`, asking)).body;
  expect(await list('&key=guessed')).toEqual(await list('&key=wrong'));
  expect(await list('&queue=other')).toEqual(await list('&queue=none'));
  expect((await list('')).tasks).toMatchObject([{ id: mine }]);
  expect((await list('&key=own')).tasks).toMatchObject([{ id: mine }]);
  // Of a name all is as it is but `*`.
  const odd = [await enqueued({ queue: 'x_z' }), await enqueued({ queue: 'a+b' })];
  await enqueued({ queue: 'xyz' });
  await enqueued({ queue: 'aab' });
  const { tasks } = (await ask('GET', `${API}/tasks`, asking)).body;
  expect(tasks.map(({ id }: { id: string }) => id)).toEqual([odd[1], odd[0], mine]);
});

test('a token for some queues sees and fills these alone', async () => {
  open();
  const other = await enqueued({ queue: 'other' });
  const mine = await enqueued({ queue: 'mail-1' });
  const limited = await token({ role: 'operator', queues: ['mail-*', 'x*y*z'] });
  const asking = { token: limited };
  expect((await ask('GET', `${API}/tasks`, asking)).body.tasks.map(({ id }: { id: string }) => id)).toEqual([
    mine,
  ]);
  expect(
    (await ask('GET', `${API}/queues`, asking)).body.queues.map(({ name }: { name: string }) => name),
  ).toEqual(['mail-1']);
  for (const path of ['', '/explain', '/wait']) {
    expect((await ask('GET', `${API}/tasks/${other}${path}`, asking)).status).toBe(404);
    expect(
      (await ask('GET', `${API}/tasks/${mine}${path}${path === '/wait' ? '?timeout=1ms' : ''}`, asking))
        .status,
    ).toBeLessThan(300);
  }
  for (const verb of ['cancel', 'retry', 'revive', 'rerun', 'discard', 'purge'])
    expect((await ask('POST', `${API}/tasks/${other}/${verb}`, { ...asking, body: {} })).status).toBe(404);
  expect((await ask('PATCH', `${API}/tasks/${other}`, { ...asking, body: { priority: 1 } })).status).toBe(
    404,
  );
  expect(
    (await ask('PATCH', `${API}/tasks/${mine}`, { ...asking, body: { queue: 'other' } })).body.code,
  ).toBe('other_queue');
  for (const body of [
    { type: 'work' },
    { type: 'work', queue: 'other' },
    { type: 'work', queue: 'mail-1', onDead: 'work' },
    { type: 'work', queue: 'mail-1', onComplete: { type: 'work', queue: 'other' } },
  ])
    expect(await ask('POST', `${API}/tasks`, { ...asking, body })).toMatchObject({
      status: 403,
      body: { code: 'other_queue' },
    });
  expect(
    (await ask('POST', `${API}/tasks`, { ...asking, body: { type: 'work', queue: 'x-y-z' } })).status,
  ).toBe(201);
  expect((await ask('GET', `${API}/queues/other`, asking)).body.code).toBe('other_queue');
  expect(await database.admin.value('select status from taskq.all_tasks where id = $1', other)).toBe(
    'pending',
  );
});

test.each([
  ['cancel', 'tasks', 'select 1 where $1 > 0'],
  ['retry', 'tasks', 'select 1 where $1 > 0'],
  ['edit', 'tasks', 'select 1 where $1 > 0'],
  ['revive', 'dead_tasks', "select taskq.add_dead($1, 'by hand')"],
  ['discard', 'dead_tasks', "select taskq.add_dead($1, 'by hand')"],
  ['purge', 'finished_tasks', 'select taskq.cancel(array[$1::bigint])'],
])('%s spares a task that leaves the queues of the token meanwhile', async (verb, table, ending) => {
  open();
  const limited = await token({ role: 'operator', queues: ['mail-*'] });
  const id = await enqueued({ queue: 'mail-1', delay: '1h' });
  await database.admin.rows(ending, id);
  const mover = await database.session();
  await mover.rows('begin');
  await mover.rows(`update taskq.${table} set queue = 'other' where id = $1`, id);
  const before = await database.admin.value('select count(*)::int from taskq.audit');
  const [method, path, body] = verb === 'edit' ? ['PATCH', '', { priority: 1 }] : ['POST', `/${verb}`, {}];
  const answered = ask(method as string, `${API}/tasks/${id}${path}`, { token: limited, body });
  await waitUntilBlocked(database.admin);
  await mover.rows('commit');
  expect((await answered).status).toBe(404);
  expect(await database.admin.value(`select queue from taskq.${table} where id = $1`, id)).toBe('other');
  expect(await database.admin.value('select count(*)::int from taskq.audit')).toBe(before);
});

test.each([
  'cancel($1, null, $2)',
  'retry($1, $2)',
  `edit($1, '{"priority": 1}', $2)`,
  'revive($1, $2)',
  'rerun($1, $2)',
  'discard($1, $2)',
  'purge($1, $2)',
])('taskq.%s takes only the tasks of some queues, and refuses what is no list', async (call) => {
  const ids = [await enqueued({ queue: 'mail-1' }), await enqueued({ queue: 'mail_1' })];
  if (/^(revive|discard)/.test(call))
    for (const id of ids) await database.admin.rows("select taskq.add_dead($1, 'by hand')", id);
  if (/^(rerun|purge)/.test(call)) await database.admin.rows('select taskq.cancel($1)', ids);
  const acting = (queues: unknown) =>
    database.admin.rows(`select id from taskq.${call} where extra is null or not extra ? 'status'`, ids, {
      queues,
    });
  await expect(acting('mail-1')).rejects.toThrow('queues');
  expect(await acting([])).toEqual([]);
  expect(await acting([null])).toEqual([]);
  expect(await acting(['mail_1'])).toEqual([{ id: ids[1] }]);
  expect(await acting(['mail*'])).toContainEqual({ id: ids[0] });
});
