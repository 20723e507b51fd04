import { createHmac } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isPrivate } from '../../handlers/_webhook.ts';
import { REPOSITORY } from '../support/spawn-taskq.ts';
import { eventsOf, useWorkers } from '../worker/support/workers.ts';
import { startProvider } from './provider-server.ts';

/* The handlers that call providers, between functions of the database. */

const queue = useWorkers('file');
const KEY = Buffer.alloc(32, 7);
const SECRET = `whsec_${KEY.toString('base64')}`;
const HANDLED = ['--types', 'http,sms,file_delete'];

let provider: Awaited<ReturnType<typeof startProvider>>;
let env: Record<string, string>;

const work = (args: readonly string[], changes: Record<string, string> = {}) =>
  queue.work(args, { handlers: join(REPOSITORY, 'handlers'), env: { ...env, ...changes } });

beforeAll(async () => {
  provider = await startProvider();
  env = {
    ...{ WEBHOOK_SECRET: SECRET, WEBHOOK_TIMEOUT_MS: '1000', WEBHOOK_ALLOW_PRIVATE: '1' },
    ...{
      SMS_URL: `${provider.url}/ok`,
      SMS_SECRET: SECRET,
      FILES_URL: `${provider.url}/sign`,
      FILES_TOKEN: 'tok',
    },
  };
  expect(await queue.run('migrate', '--with', 'queues')).toMatchObject({ code: 0 });
  await queue.rows(await readFile(join(import.meta.dirname, 'providers.sql'), 'utf8'));
  work([...HANDLED, '--queues', 'default']);
});
afterAll(() => provider.close());

const HANDLERS = {
  before_handler: 'comms.get_payload',
  success_handler: 'comms.record_success',
  error_handler: 'comms.record_failure',
};
let nth = 0;

/** Runs a task to its end. Returns it, the facts that its functions have recorded, and what the provider got. */
async function run(type: string, payload: object, options: object = {}) {
  nth += 1;
  const task = `t${nth}`;
  const before = provider.received.length;
  const id = await queue.enqueue(type, { task, ...payload }, { max_attempts: 1, ...options });
  await queue.ended(id);
  const facts = await queue.rows<{ fact: string; payload: Record<string, unknown> }>(
    'select fact, payload from comms.facts where task = $1 order by n',
    task,
  );
  return { id, task: await queue.task(id), facts, received: provider.received.slice(before), mark: task };
}
const to = (path: string, more: object = {}) => ({
  ...HANDLERS,
  prepared: { url: `${provider.url}${path}`, body: { hello: 'wörld' } },
  ...more,
});

/** The idempotency key of a task: no other database has an equal one. */
const keyOf = async (id: string) =>
  `${await queue.value<string>('select installation::text from taskq.release')}-${id}`;

describe('a task of a channel', () => {
  test('calls the provider with what before_handler prepared, and success_handler with what it answered', async () => {
    const { id, task, facts, received, mark } = await run('http', to('/ok', { attempt_id: 456 }));
    expect(task).toMatchObject({
      status: 'completed',
      result: { status: 'succeeded', worker_payload: { status: 200, body: { id: 'm1' } } },
    });
    expect(received).toHaveLength(1);
    const [{ headers, body }] = received as [(typeof received)[0]];
    expect(JSON.parse(body)).toEqual({ hello: 'wörld' });
    const key = await keyOf(id);
    expect(headers['webhook-id']).toBe(key);
    const signature = createHmac('sha256', KEY)
      .update(`${key}.${headers['webhook-timestamp']}.${body}`)
      .digest('base64');
    expect(headers['webhook-signature']).toBe(`v1,${signature}`);
    expect(facts).toMatchObject([
      {
        fact: 'succeeded',
        payload: {
          original_payload: { task: mark, attempt_id: 456, before_handler: 'comms.get_payload' },
          worker_payload: { status: 200, body: { id: 'm1' } },
        },
      },
    ]);
  });

  test.each([
    ['/broken', /answered 500: no disk/],
    ['/moved', /redirects, which is not followed: 302/],
    ['/hang', /has not answered within 1000 ms/],
    ['/drip', /has not answered within 1000 ms/],
  ])('records the failure of %s by error_handler, and completes', async (path, message) => {
    const { task, facts } = await run('http', to(path));
    expect(task).toMatchObject({
      status: 'completed',
      result: { status: 'failed', error: expect.stringMatching(message) },
    });
    expect(facts).toMatchObject([{ fact: 'failed', payload: { error: expect.stringMatching(message) } }]);
    expect(await queue.errors(task.id as string)).toMatchObject([
      { outcome: 'warned', error: { message: expect.stringMatching(message) } },
    ]);
  });

  test('shows the failure that error_handler has recorded in queues.error', async () => {
    work([...HANDLED, '--queues', 'queues']);
    const { id } = await run('http', to('/broken'), { queue: 'queues' });
    expect(await queue.rows('select * from queues.error where task_id = $1', id)).toEqual([
      { task_id: id, error_message: `${provider.url} answered 500: no disk` },
    ]);
  });

  test.each(['silent', 'silent-apart'])(
    'of type %s, whose provider does not answer until its time limit is nearly over, has failed: error_handler is called',
    async (type) => {
      queue.work(['--queues', type], { handlers: join(import.meta.dirname, 'handlers'), env });
      const error = 'the provider has not answered within the time limit of the task';
      const limits = { queue: type, timeout_ms: 8000, max_attempts: 5 };
      const { id, task, facts } = await run(type, to('/ok'), limits);
      expect(task).toMatchObject({ status: 'completed', attempts: 0, result: { status: 'failed', error } });
      expect(facts).toMatchObject([{ fact: 'failed', payload: { error } }]);
      expect(await queue.errors(id)).toMatchObject([{ outcome: 'warned', error: { name: 'TimeoutError' } }]);
    },
  );

  test('has all of its time limit without an error_handler, and is a failed attempt then', async () => {
    work([...HANDLED, '--queues', 'slow'], { WEBHOOK_TIMEOUT_MS: '60000' });
    const limits = { queue: 'slow', timeout_ms: 500 };
    const { task } = await run('http', { ...to('/hang'), error_handler: undefined }, limits);
    expect(task).toMatchObject({ status: 'dead', error: { message: 'ran longer than 500ms' } });
  });

  test('fails without an error_handler, and is tried again when the provider asks for it', async () => {
    const { error_handler: _, ...others } = HANDLERS;
    const { task } = await run('http', { ...to('/broken'), error_handler: undefined });
    expect(task).toMatchObject({ status: 'dead', error: { name: 'CallError' } });
    const id = await queue.enqueue('http', { ...others, prepared: { url: `${provider.url}/busy` } });
    await expect
      .poll(() =>
        queue
          .value(
            `select round(extract(epoch from available_at - clock_timestamp())) from taskq.tasks
          where id = $1 and attempts = 1`,
            id,
          )
          .catch(() => null),
      )
      .toMatch(/^1[012]\d$/);
    // It would be tried again beside a later test.
    expect(await queue.run('cancel', id)).toMatchObject({ code: 0 });
    const { facts } = await run('http', to('/busy'));
    expect(facts).toMatchObject([{ fact: 'failed', payload: { retry_after_s: 120 } }]);
  });

  test.each([
    [{ success: false, validation_failure_message: 'no address' }, 'invalid', 'no address'],
    [{ status: 'attempt_not_found' }, 'attempt_not_found', 'comms.get_payload answered attempt_not_found'],
    [{ success: false, error: 'odd' }, 'failed', 'odd'],
  ])('does not call the provider when before_handler answers %j', async (answer, status, error) => {
    const { task, facts, received } = await run('http', to('/ok', { answer }));
    expect(task).toMatchObject({ status: 'completed', result: { status, error } });
    expect(facts).toMatchObject([{ fact: 'failed', payload: { error } }]);
    expect(received).toEqual([]);
  });

  test('does not call the provider when before_handler raises, is unknown, or answers what cannot be read', async () => {
    for (const [more, error] of [
      [{ raise: '456' }, 'no attempt 456'],
      [{ before_handler: 'comms.nope' }, /comms\.nope/],
      [{ answer: 7 }, /comms\.get_payload must answer/],
    ] as const) {
      const { task, facts, received } = await run('http', to('/ok', more));
      const message = typeof error === 'string' ? error : expect.stringMatching(error);
      expect(task).toMatchObject({ status: 'completed', result: { status: 'failed', error: message } });
      expect(facts).toMatchObject([{ fact: 'failed' }]);
      expect(received).toEqual([]);
    }
  });

  test.each([
    ['completed', { success_handler: 'comms.nope' }, 'success_handler "comms.nope": there is no function'],
    [
      'completed',
      { success_handler: 'nowhere.nope' },
      'success_handler "nowhere.nope": there is no function',
    ],
    ['dead', { error_handler: 'comms.nope' }, 'there is no function comms.nope'],
  ])('does not call the provider, and is %s, with the handlers %j', async (status, more, message) => {
    const { task, received } = await run('http', to('/ok', more));
    expect(task).toMatchObject({ status });
    expect(JSON.stringify(task.result ?? task.error)).toContain(JSON.stringify(message).slice(1, -1));
    expect(received).toEqual([]);
  });

  test('is a dead letter, and the provider is not called again, when success_handler fails', async () => {
    const { task, facts, received } = await run('http', to('/ok', { break: true }), { max_attempts: 5 });
    expect(task).toMatchObject({
      status: 'dead',
      reason: expect.stringMatching(
        /the provider has answered, but comms\.record_success has failed: the table is/,
      ),
    });
    expect(received).toHaveLength(1);
    expect(facts).toEqual([]);
  });

  test.each([
    ['before', '/ok', 'succeeded'],
    ['success', '/ok', 'succeeded'],
    ['error', '/broken', 'failed'],
  ])(
    'calls a function again, %s, that was in conflict, and the provider once',
    async (conflict, path, status) => {
      const { task, facts, received } = await run('http', to(path, { conflict }));
      expect(task).toMatchObject({ status: 'completed', attempts: 0, result: { status } });
      expect(facts).toMatchObject([{ fact: status }]);
      expect(received).toHaveLength(1);
    },
  );

  test.each([[], 'http', null, { before_handler: 7 }, { error_handler: '' }])(
    'is a dead letter at once with the payload %j',
    async (payload) => {
      const id = await queue.enqueue('http', payload);
      await queue.ended(id);
      expect(await queue.task(id)).toMatchObject({ status: 'dead', reason: 'invalid_payload' });
    },
  );

  test('is called again with the same key when its worker is killed', async () => {
    const before = provider.received.length;
    const calls = () => provider.received.slice(before).filter(({ path }) => path === '/hang');
    const worker = work([...HANDLED, '--queues', 'killed'], { WEBHOOK_TIMEOUT_MS: '60000' });
    const id = await queue.enqueue('http', to('/hang'), { queue: 'killed' });
    await expect.poll(() => calls().length).toBe(1);
    worker.kill('SIGKILL');
    await worker.exit;
    work([...HANDLED, '--queues', 'killed']);
    await queue.ended(id);
    const key = await keyOf(id);
    expect(calls().map(({ headers }) => headers['webhook-id'])).toEqual([key, key]);
  });
});

describe('a webhook', () => {
  test('is not sent to addresses of this host or of private networks, by number or by name', async () => {
    work([...HANDLED, '--queues', 'public'], { WEBHOOK_ALLOW_PRIVATE: '' });
    const port = new URL(provider.url).port;
    for (const host of ['127.0.0.1', 'localhost', '[::1]', '[::ffff:127.0.0.1]', '2130706433', '10.1.2.3']) {
      const { task, received } = await run(
        'http',
        { ...HANDLERS, prepared: { url: `http://${host}:${port}/ok` } },
        { queue: 'public' },
      );
      expect(task).toMatchObject({ result: { error: expect.stringMatching(/private network|ENOTFOUND/) } });
      expect(received).toEqual([]);
    }
  });

  test.each(['8.8.8.8', '2001:4860:4860::8888'])('%s is public', (address) =>
    expect(isPrivate(address)).toBe(false),
  );
  test.each([
    '169.254.169.254',
    '100.64.0.1',
    'fd00::1',
    'fe80::1',
    '::ffff:10.0.0.1',
    '::ffff:0:7f00:1',
    '64:ff9b::a00:1',
    '0.0.0.0',
  ])('%s is not', (address) => expect(isPrivate(address)).toBe(true));
});

test('sms posts the message to its gateway, signed', async () => {
  const prepared = { to_number: '+15550100', body: 'your code is 7' };
  const { task, received } = await run('sms', { ...HANDLERS, prepared });
  expect(task).toMatchObject({ status: 'completed', result: { status: 'succeeded' } });
  expect(received).toMatchObject([
    { method: 'POST', path: '/ok', headers: { 'webhook-signature': expect.stringMatching(/^v1,/) } },
  ]);
  expect(JSON.parse(received[0]!.body)).toEqual(prepared);
  const { task: wrong } = await run('sms', { ...HANDLERS, prepared: { to_number: 7 } });
  expect(wrong).toMatchObject({ result: { status: 'failed', error: 'expected to_number and body as text' } });
});

test('file_delete deletes by a signed URL; an object that is not there is done', async () => {
  const of = (object_key: string) =>
    run('file_delete', { ...HANDLERS, prepared: { bucket: 'b', object_key } });
  const { task, received, id } = await of('there');
  expect(task).toMatchObject({ result: { worker_payload: { deleted: true } } });
  expect(received).toMatchObject([
    {
      ...{ method: 'POST', path: '/sign' },
      headers: { authorization: 'Bearer tok', 'idempotency-key': await keyOf(id) },
    },
    { method: 'DELETE', path: '/object?signature=secret&of=there' },
  ]);
  expect((await of('gone')).task).toMatchObject({ result: { worker_payload: { deleted: false } } });
  const { task: locked } = await of('locked');
  expect(locked).toMatchObject({ result: { status: 'failed', error: `${provider.url} answered 423` } });
});

test.each([
  ['http', { WEBHOOK_SECRET: '' }, /http\.ts: WEBHOOK_SECRET is not set/],
  ['http', { WEBHOOK_SECRET: 'whsec_short' }, /http\.ts: WEBHOOK_SECRET must be whsec_ and 24 to 64 bytes/],
  ['http', { WEBHOOK_TIMEOUT_MS: 'soon' }, /WEBHOOK_TIMEOUT_MS must be a number/],
  ['sms', { SMS_URL: 'ftp://x' }, /sms\.ts: SMS_URL must be a URL of http or https/],
  ['file_delete', { FILES_URL: '' }, /file_delete\.ts: FILES_URL is not set/],
])('a worker of %s does not start with %j', async (type, changes, message) => {
  const worker = work(['--types', type], changes);
  expect(await worker.exit).toMatchObject({ code: 2 });
  expect(worker.stderr()).toMatch(message);
  expect(eventsOf(worker, 'worker.started')).toEqual([]);
});
