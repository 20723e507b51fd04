import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  createWorker,
  defineChannel,
  defineHandler,
  type TaskContext,
  type TaskWorker,
  type WorkerEvent,
} from 'taskq';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { waitUntil } from '../queue/waiting.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { useLibrary } from './use-queue.ts';

const library = useLibrary();

type Options = Parameters<typeof createWorker>[0];

const workers: TaskWorker[] = [];

afterEach(async () => {
  await Promise.all(workers.splice(0).map((worker) => worker.stop()));
});

/** Make a worker that is stopped after the test, and hear what it tells. */
function make(options: Omit<Options, 'databaseUrl'>): { worker: TaskWorker; events: WorkerEvent[] } {
  const events: WorkerEvent[] = [];
  const worker = createWorker({
    databaseUrl: library.url,
    poll: '50ms',
    onEvent: (event) => events.push(event),
    ...options,
  });
  workers.push(worker);
  return { worker, events };
}

/** A promise and what resolves it. */
function gate(): { opened: Promise<void>; open: () => void } {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

describe('a worker inside an application', () => {
  test('runs tasks by functions from start to stop, and makes their types known', async () => {
    const handlers = {
      greet: async (payload: { name: string }) => `hello ${payload.name}`,
      add: defineHandler({ schema: z.object({ a: z.number(), b: z.number() }), run: ({ a, b }) => a + b }),
    };
    const { worker } = make({ handlers });
    await worker.start();
    const queue = library.open<typeof handlers>();
    const greeting = await queue.enqueue('greet', { name: 'Ann' });
    const sum = await queue.enqueue('add', { a: 1, b: 2 });
    expect(await queue.wait<'greet'>(greeting.id)).toMatchObject({
      status: 'completed',
      result: 'hello Ann',
    });
    expect(await queue.wait<'add'>(sum.id)).toMatchObject({ status: 'completed', result: 3 });
    await worker.stop();
    expect(await worker.ended).toEqual({ how: 'drained', completed: 2, failed: 0, left: {} });
    const late = await queue.enqueue('greet', { name: 'Bea' });
    expect(await queue.get(late.id)).toMatchObject({ status: 'pending' });
  });

  test('a payload that fails its schema when it runs is dead at once', async () => {
    const { worker } = make({
      handlers: { add: defineHandler({ schema: z.object({ a: z.number() }), run: ({ a }) => a }) },
    });
    await worker.start();
    const queue = library.open();
    const { id } = await queue.enqueue('add', { a: 'one' });
    expect(await queue.wait(id)).toMatchObject({
      status: 'dead',
      reason: 'invalid_payload',
      error: { message: expect.stringMatching(/^\$\.a: .*expected number/) },
    });
    expect(await queue.get(id)).toMatchObject({ attempts: 1, errors: [{ attempt: 1 }] });
  });

  test('a channel calls its provider with what its schema makes of the payload, and not with what does not fit', async () => {
    const called: unknown[] = [];
    const parcel = defineChannel({
      schema: z.object({ to: z.string().trim() }),
      call: (payload, ctx) => {
        called.push([payload, ctx.idempotencyKey.endsWith(`-${ctx.id}`)]);
        return { parcel: 7 };
      },
    });
    const { worker } = make({ handlers: { parcel } });
    await worker.start();
    const queue = library.open();
    const fits = await queue.enqueue('parcel', { to: ' Ann ' });
    expect(await queue.wait(fits.id)).toMatchObject({
      status: 'completed',
      result: { status: 'succeeded', worker_payload: { parcel: 7 } },
    });
    const other = await queue.enqueue('parcel', { to: 7 });
    expect(await queue.wait(other.id)).toMatchObject({
      status: 'dead',
      error: { message: expect.stringMatching(/^\$\.to: .*expected string/) },
    });
    expect(called).toEqual([[{ to: 'Ann' }, true]]);
  });

  test('runs the files of a directory, those that took a worker with them in a process of their own', async () => {
    const { worker } = make({ handlers: fileURLToPath(new URL('handlers', import.meta.url)) });
    await worker.start();
    const queue = library.open();
    const { id } = await queue.enqueue('where');
    expect(await queue.wait(id)).toMatchObject({ result: { pid: process.pid } });
    const suspect = await queue.enqueue('where', {}, { delay: '1h' });
    await library.admin.rows(
      'update taskq.tasks set losses = 1, available_at = clock_timestamp() where id = $1',
      suspect.id,
    );
    const end = await queue.wait(suspect.id);
    expect(end).toMatchObject({ status: 'completed', result: { pid: expect.any(Number) } });
    expect(end).not.toMatchObject({ result: { pid: process.pid } });
  });

  test('stop waits for what runs, and gives the rest back', async () => {
    const { opened, open } = gate();
    const begun = gate();
    const { worker } = make({
      concurrency: 1,
      handlers: {
        slow: async () => {
          begun.open();
          await opened;
          return 'done';
        },
      },
    });
    await worker.start();
    const queue = library.open();
    const first = await queue.enqueue('slow');
    await begun.opened;
    const second = await queue.enqueue('slow');
    const stopped = worker.stop();
    open();
    await stopped;
    expect(await queue.get(first.id)).toMatchObject({ status: 'completed', result: 'done' });
    expect(await queue.get(second.id)).toMatchObject({ status: 'pending', attempts: 0 });
  });

  test('until idle it ends by itself', async () => {
    const queue = library.open();
    await queue.enqueueMany(Array.from({ length: 50 }, () => ({ type: 'work' })));
    const { worker } = make({ handlers: { work: () => {} }, untilIdle: true });
    await worker.start();
    expect(await worker.ended).toMatchObject({ how: 'drained', completed: 50 });
  });

  test('emits events, and a listener that throws changes nothing', async () => {
    const warned = once(process, 'warning');
    const events: WorkerEvent[] = [];
    const { worker } = make({
      handlers: {
        work: (_: unknown, ctx: TaskContext) => {
          ctx.log.info('half way', { rows: 7 });
          throw new Error('no luck');
        },
      },
      onEvent(event) {
        events.push(event);
        throw new Error('the listener is broken');
      },
    });
    await worker.start();
    const queue = library.open();
    const { id } = await queue.enqueue('work', {}, { maxAttempts: 1 });
    expect(await queue.wait(id)).toMatchObject({ status: 'dead', error: { message: 'no luck' } });
    await worker.stop();
    expect(events).toContainEqual(
      expect.objectContaining({
        event: 'task.log',
        level: 'info',
        message: 'half way',
        fields: { rows: 7 },
        task_id: id,
      }),
    );
    expect(events).toContainEqual(
      expect.objectContaining({ event: 'task.died', level: 'error', task_id: id, type: 'work' }),
    );
    // Of every single task it is told only when it asks to be.
    expect(events.filter(({ level }) => level === 'debug')).toEqual([]);
    expect(await warned).toMatchObject([{ message: expect.stringContaining('the listener is broken') }]);
  });

  test('an abort says why to the handler that runs on', async () => {
    const begun = gate();
    const { worker } = make({
      heartbeat: '100ms',
      handlers: {
        work: async (_: unknown, ctx: TaskContext) => {
          begun.open();
          await once(ctx.signal, 'abort');
          throw new Error(String(ctx.signal.reason));
        },
      },
    });
    await worker.start();
    const queue = library.open();
    const { id } = await queue.enqueue('work');
    await begun.opened;
    expect(await queue.cancel(id, { reason: 'not wanted' })).toMatchObject({ answer: 'requested' });
    expect(await queue.wait(id)).toMatchObject({ status: 'cancelled', reason: 'not wanted' });
  });

  test('leaves the process as it is: no signal handler, no catcher of errors', async () => {
    const counted = () =>
      ['SIGINT', 'SIGTERM', 'SIGHUP', 'uncaughtException', 'unhandledRejection', 'exit', 'beforeExit'].map(
        (name) => process.listenerCount(name),
      );
    const before = counted();
    const { worker } = make({ handlers: { work: () => {} } });
    await worker.start();
    expect(counted()).toEqual(before);
    await worker.stop();
    expect(counted()).toEqual(before);
  });

  test('a handler that keeps the event loop past its time loses its leases, and the process lives', async () => {
    const program = `
      import { existsSync } from 'node:fs';
      import { createWorker } from 'taskq';
      const worker = createWorker({
        databaseUrl: process.env.DATABASE_URL,
        lease: '1s', heartbeat: '200ms', grace: 0, logLevel: 'debug',
        handlers: { block: { timeout: '100ms', run: () => { while (!existsSync(process.env.GATE)); } } },
        onEvent({ event }) {
          console.log(event);
          if (event === 'lease.lost') void worker.stop();
        },
      });
      await worker.start();`;
    const directory = await temporaryDirectory();
    const gate = join(directory, 'open');
    const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
      env: { ...process.env, DATABASE_URL: library.url, GATE: gate },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let output = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
    try {
      await waitUntil(async () => output.includes('worker.started'), 'it did not start');
      const queue = library.open();
      const { id } = await queue.enqueue('block');
      await waitUntil(async () => output.includes('task.started'), 'the task did not start');
      const { worker: other } = make({
        rescue: '100ms',
        heartbeat: '100ms',
        handlers: { block: () => 'taken' },
      });
      await other.start();
      expect(await queue.wait(id)).toMatchObject({ status: 'completed', result: 'taken' });
      await writeFile(gate, '');
      await once(child, 'close');
      expect(output).toMatch(/lease\.lost\n(.+\n)*worker\.stopped\n$/);
      expect(child.exitCode).toBe(0);
    } finally {
      child.kill('SIGKILL');
    }
  });

  test('a stopped worker keeps the process from nothing, whatever its handlers had time for', async () => {
    const program = `
      import { createWorker } from 'taskq';
      const worker = createWorker({
        databaseUrl: process.env.DATABASE_URL,
        grace: 0, logLevel: 'debug',
        handlers: { deaf: { timeout: '1h', run: () => new Promise(() => {}) } },
        onEvent: ({ event }) => event === 'task.started' && void worker.stop(),
      });
      await worker.start();`;
    await library.open().enqueue('deaf', {}, { allowUnknown: true });
    const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
      env: { ...process.env, DATABASE_URL: library.url },
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    expect(await once(child, 'exit')).toEqual([0, null]);
  });
});

test('a worker that fails after its start is a process warning, for an application that awaits no end', async () => {
  const emitWarning = vi.spyOn(process, 'emitWarning').mockImplementationOnce(() => {
    throw new Error('no warnings here');
  });
  const worker = createWorker({
    databaseUrl: library.url,
    handlers: { work: () => {} },
    untilIdle: true,
    onEvent({ event }) {
      if (event === 'worker.stopped') throw new Error('the listener is broken');
    },
  });
  await worker.start();
  await expect(worker.ended).rejects.toThrow('no warnings here');
  await waitUntil(async () => emitWarning.mock.calls.length === 2, 'no warning');
  expect(emitWarning.mock.calls[1]).toEqual(['a taskq worker failed: no warnings here', 'TaskqWarning']);
  emitWarning.mockRestore();
});

test('a worker that fails while it starts leaves nothing behind that keeps the process alive', async () => {
  const program = `
    import { createWorker } from 'taskq';
    process.emitWarning = () => {
      throw new Error('no warnings here');
    };
    const worker = createWorker({
      databaseUrl: process.env.DATABASE_URL,
      handlers: { work() {} },
      onEvent() {
        throw new Error('the listener is broken');
      },
    });
    await worker.start().catch(({ message }) => {
      process.exitCode = message === 'no warnings here' ? 7 : 8;
    });`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
    env: { ...process.env, DATABASE_URL: library.url },
    stdio: ['ignore', 'ignore', 'inherit'],
    timeout: 120_000,
  });
  expect(await once(child, 'exit')).toEqual([7, null]);
});

describe('a worker that cannot start', () => {
  test.each([
    [{ handlers: {} }, /no handlers were passed/],
    [{ handlers: { work: 'work.js' } }, /the handler of work is invalid: expected a function/],
    [
      { handlers: { work: { run: () => {}, timeout: 'soon' } } },
      /the handler of work: timeout "soon": expected/,
    ],
    [
      { handlers: { work: { run: () => {}, isolation: 'process' } } },
      /sets isolation process, which only handlers in files can use/,
    ],
    [{ handlers: { '../work': () => {} } }, /type "..\/work": . and .. are not allowed/],
    [{ handlers: { work: () => {} }, types: ['wrok', 'work'] }, /no handler for wrok/],
    [{ handlers: '/nowhere/handlers' }, /the handlers' directory \/nowhere\/handlers does not exist/],
  ])('says why: %j', async (options, message) => {
    const { worker } = make(options as unknown as Options);
    await expect(worker.start()).rejects.toThrow(message);
  });

  test.each([
    [{ concurency: 8 }, /unknown option "concurency" \(did you mean "concurrency"\?\)/],
    [{ concurrency: 0 }, /concurrency 0: expected a whole number from 1 to 10000/],
    [{ lease: 'long' }, /lease "long": expected a duration of at least 100ms/],
    [{ heartbeat: '20s' }, /heartbeat "20s": expected at most a third of the lease/],
    [{ databaseUrl: undefined }, /databaseUrl is missing/],
    [{ handlers: undefined }, /handlers are missing: pass a map by type, or the directory of their files/],
  ])('is not even made with options that cannot be: %j', (options, message) => {
    const given = {
      databaseUrl: 'postgres://localhost/x',
      handlers: { work: () => {} },
      ...options,
    } as Options;
    expect(() => createWorker(given)).toThrow(message);
  });

  test('names the database that cannot be reached', async () => {
    const worker = createWorker({ databaseUrl: 'postgres://127.0.0.1:1/none', handlers: { work: () => {} } });
    await expect(worker.start()).rejects.toMatchObject({ code: 'connection_failed' });
    await worker.stop();
  });
});

describe('the settings of tasks in its options', () => {
  test('is registered for every producer, as the configuration of taskq work is', async () => {
    const queue = library.open();
    const { worker } = make({
      handlers: { greet: { run: () => 'hello' } },
      maxAttempts: 'unlimited',
      expires: '3h',
      taskTypes: {
        greet: { queue: 'mail', priority: 'low', timeout: '2s', backoff: { kind: 'fixed', base: '1s' } },
      },
      queueSettings: {
        mail: { retention: '30d', deadRetention: '90d', groupLimit: 3, groupBy: 'type', rate: '100/1m' },
      },
    });
    await worker.start();
    const { id } = await queue.enqueue('greet', {});
    await queue.wait(id);
    expect(await queue.get(id)).toMatchObject({
      queue: 'mail',
      priority: 3,
      applies: {
        maxAttempts: { value: 'unlimited', from: 'defaults' },
        timeoutMs: { value: 2000, from: 'type' },
        retention: { value: '30d', from: 'queue' },
      },
    });
    const text =
      "select dead_retention, group_limit, group_by, (select expires_ms from taskq.defaults) from taskq.queues where name = 'mail'";
    expect(await library.admin.rows(text)).toEqual([
      { dead_retention: '90d', group_limit: 3, group_by: 'type', expires_ms: '10800000' },
    ]);
  });

  test.each([
    [{ maxAttempts: 0 }, 'maxAttempts 0: expected'],
    [{ taskTypes: { greet: { delay: '1s' } } }, 'taskTypes: greet: unknown option "delay"'],
    [{ queueSettings: { mail: { expires: 0 } } }, 'queueSettings: mail: expires 0: expected more than 0'],
    [{ queueSettings: { mail: { maxRunning: 0 } } }, 'queueSettings: mail: maxRunning 0: expected a whole'],
    [{ queueSettings: { mail: { rate: '5' } } }, 'queueSettings: mail: rate "5": expected n/duration'],
    [{ queueSettings: { mail: { burst: 5 } } }, 'queueSettings: mail: burst 5 needs a rate'],
    [{ queueSettings: { mail: { groupLimit: 0 } } }, 'queueSettings: mail: groupLimit 0: expected a whole'],
    [{ queueSettings: { mail: { priority: 1 } } }, 'queueSettings: mail: unknown option "priority"'],
    [{ queueSettings: 'mail' }, 'queueSettings: expected an object'],
  ])('is refused where it cannot be: %j', (options, message) => {
    expect(() => make({ handlers: { greet: () => 'hello' }, ...(options as object) })).toThrow(message);
  });
});
