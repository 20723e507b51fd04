import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { runTaskq } from '../support/run-taskq.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { eventsOf, useWorkers } from './support/workers.ts';

const queue = useWorkers();
const TRACEPARENT = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
let directory: string;

beforeEach(async () => {
  directory = await temporaryDirectory();
});

/** Writes a program into its own handlers' directory, and returns the directory. */
async function program(name: string, text: string, mode = 0o755): Promise<string> {
  await writeFile(join(directory, name), text);
  await chmod(join(directory, name), mode);
  return directory;
}

/** Runs one task of a program to its end. */
async function run(text: string, payload: unknown = {}, options: object = {}) {
  const handlers = await program('program.sh', text);
  const id = await queue.enqueue('program', payload, options);
  const worker = queue.work(['--until-idle', '--grace', '300ms'], { handlers });
  expect(await worker.exit).toEqual({ code: 0, signal: null });
  return { id, worker, task: await queue.task(id), errors: await queue.errors(id) };
}

describe('a program in handlers/', () => {
  test('that exits with 79 has completed, and runs again with what it has written', async () => {
    const script =
      '#!/bin/sh\n[ "$(cat)" = 2 ] && exit 0\necho \'{"payload":2,"result":"first","delay":"10ms"}\'; exit 79\n';
    const { id, task } = await run(script, 1);
    expect(task).toMatchObject({ status: 'completed', result: 'first' });
    const rows = 'select payload, status::text, source from taskq.all_tasks where id > $1';
    expect(await queue.rows(rows, id)).toEqual([
      { payload: 2, status: 'completed', source: `again of ${id}` },
    ]);
  });

  test('that exits with 79 and writes something else has failed', async () => {
    const { task } = await run('#!/bin/sh\necho later; exit 79\n', 1, { max_attempts: 1 });
    expect(task).toMatchObject({
      status: 'dead',
      error: { message: expect.stringMatching(/^exit code 79: expected \{"delay": …, "payload": …/) },
    });
  });

  test('gets the payload on stdin and the task in its environment; its stdout is the result', async () => {
    const { id, task } = await run(
      '#!/bin/sh\nprintf \'{"got": %s, "about": "%s"}\' "$(cat)" "$TASKQ_ID $TASKQ_TYPE $TASKQ_QUEUE $TASKQ_ATTEMPT"\n',
      { to: 'ann', n: [1, null] },
      { queue: 'mail' },
    );
    expect(task).toMatchObject({
      status: 'completed',
      result: { got: { to: 'ann', n: [1, null] }, about: `${id} program mail 1` },
    });
  });

  test('gets the trace of its task, and not the one its worker was started in', async () => {
    const handlers = await program('program.sh', '#!/bin/sh\nprintenv TRACEPARENT || echo none\n');
    const of = { traceparent: TRACEPARENT };
    const [traced, untraced] = [await queue.enqueue('program', {}, of), await queue.enqueue('program')];
    await queue.work(['--until-idle'], { handlers, env: { TRACEPARENT: TRACEPARENT.replace('4b', '00') } })
      .exit;
    expect(await queue.task(traced)).toMatchObject({ result: TRACEPARENT });
    expect(await queue.task(untraced)).toMatchObject({ result: 'none' });
  });

  test.each([
    ['text is a string', 'echo two words', 'two words'],
    ['nothing is no result', 'true', null],
    ['a number is a number', 'echo 42', 42],
  ])('%s', async (_, script, result) => {
    expect((await run(`#!/bin/sh\n${script}\n`)).task).toMatchObject({ status: 'completed', result });
  });

  test('gets and gives numbers that JavaScript would change as they are', async () => {
    const exact = '{"id": 9007199254740993, "of": [0.1000000000000000055]}';
    const handlers = await program('program.sh', '#!/bin/sh\ncat\n');
    const id = await queue.enqueue('program');
    await queue.rows('update taskq.tasks set payload = $1', exact);
    await queue.work(['--until-idle'], { handlers }).exit;
    expect(await queue.value('select result::text from taskq.all_tasks where id = $1', id)).toBe(exact);
  });

  test('need not read its payload, however long', async () => {
    const { task } = await run('#!/bin/sh\nexit 0\n', { text: 'x'.repeat(500_000) });
    expect(task).toMatchObject({ status: 'completed' });
  });

  test('that ends with 75 is tried again, and says why', async () => {
    const { task, errors } = await run(
      '#!/bin/sh\n[ "$TASKQ_ATTEMPT" = 2 ] && exit 0\necho busy >&2; echo come back later >&2; exit 75\n',
    );
    expect(task).toMatchObject({ status: 'completed', attempts: 1 });
    expect(errors).toMatchObject([{ attempt: 1, error: { name: 'Retry', message: 'come back later' } }]);
  });

  test('that ends otherwise has failed, with the end of its stderr; every line of it is in the log', async () => {
    const { id, task, worker } = await run(
      '#!/bin/sh\necho first >&2\nyes filler | head -n 2000 >&2\necho "ValueError: no such customer" >&2\nexit 3\n',
      {},
      { max_attempts: 1 },
    );
    const error = task.error as { message: string; stack: string };
    expect(error).toMatchObject({
      name: 'ProgramFailed',
      code: '3',
      message: 'program.sh ended with exit code 3: ValueError: no such customer',
    });
    expect(error.stack.length).toBeLessThanOrEqual(3000);
    expect(error.stack).toMatch(/filler\nValueError: no such customer\n$/);
    const logged = eventsOf(worker, 'task.log').filter((line) => line.task_id === id);
    expect(logged.at(0)).toMatchObject({ msg: 'first', type: 'program', attempt: 1 });
    expect(logged).toHaveLength(2002);
  });

  test('that dies of a signal has failed, and the worker lives', async () => {
    const { task } = await run('#!/bin/sh\nkill -SEGV $$\n', {}, { max_attempts: 1 });
    expect(task).toMatchObject({ status: 'dead', error: { message: 'program.sh ended with SIGSEGV' } });
  });

  test('gets SIGTERM at its timeout, and is killed with its children if it continues', async () => {
    const { task, errors } = await run(
      '#!/bin/sh\ntrap "echo asked >&2" TERM\nwhile true; do sleep 0.05; done\n',
      {},
      { timeout_ms: 400, max_attempts: 1 },
    );
    expect(task).toMatchObject({ status: 'dead', error: { name: 'TimeoutError' } });
    expect(errors).toHaveLength(1);
  });

  test('that leaves a child running which holds its output open counts as ended', async () => {
    const { task } = await run('#!/bin/sh\nsleep 600 &\necho done\n');
    expect(task).toMatchObject({ status: 'completed', result: 'done' });
  });

  test('whose interpreter is not here says so', async () => {
    const { task } = await run('#!/no/such/interpreter\n', {}, { max_attempts: 1 });
    const { message } = task.error as { message: string };
    expect(message).toContain(
      'program.sh cannot be started: the program named in its first line does not exist',
    );
  });

  test('that may not be executed is refused at the start, by name', async () => {
    const handlers = await program('forgotten.py', '#!/usr/bin/env python3\n', 0o644);
    const worker = queue.work([], { handlers });
    expect(await worker.exit).toEqual({ code: 2, signal: null });
    expect(worker.stderr()).toContain('forgotten.py starts with #! but is not executable');
    expect(worker.stderr()).toContain('chmod +x');
  });

  test('that may not be executed stops no producer, and no worker, of other types', async () => {
    const handlers = await program('forgotten.py', '#!/usr/bin/env python3\n', 0o644);
    await program('other.sh', '#!/bin/sh\necho done', 0o755);
    const env = { DATABASE_URL: queue.url, TASKQ_HANDLERS: handlers };
    const { code, stdout } = await runTaskq(['enqueue', 'other'], { env });
    expect(code).toBe(0);
    expect(await queue.work(['--types', 'other', '--until-idle'], { handlers }).exit).toMatchObject({
      code: 0,
    });
    expect(await queue.task(stdout.trim())).toMatchObject({ status: 'completed', result: 'done' });
    expect(await runTaskq(['enqueue', 'forgotten'], { env })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('forgotten.py starts with #! but is not executable'),
    });
  });

  test('other files beside it are no handlers', async () => {
    await program('notes.md', '# Notes\n', 0o755);
    await program('data.json', '{}', 0o644);
    const { worker } = await run('#!/bin/sh\n');
    expect(eventsOf(worker, 'worker.started')).toMatchObject([{ types: ['program'] }]);
  });
});
