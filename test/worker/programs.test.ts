import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runTaskq } from '../support/run-taskq.ts';
import type { RunningTaskq } from '../support/start-taskq.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { eventsOf, useWorkers } from './support/workers.ts';

const TRACEPARENT = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';

/** Writes a program into a handlers' directory. */
async function write(directory: string, name: string, text: string, mode = 0o755): Promise<void> {
  await writeFile(join(directory, name), text);
  await chmod(join(directory, name), mode);
}

/* All programs are handlers of one worker: what one does must not disturb the next. */
describe('a program in handlers/', () => {
  const queue = useWorkers('file');
  const programs = new Map<string, string>();
  let worker: RunningTaskq;

  /** Makes a program a handler, and returns its type. */
  function program(text: string): string {
    const type = `program-${programs.size + 1}`;
    programs.set(type, `#!/bin/sh\n${text}\n`);
    return type;
  }

  /** Runs one task to its end. */
  async function run(type: string, payload: unknown = {}, options: object = {}) {
    const id = await queue.enqueue(type, payload, options);
    await queue.ended(id);
    return { id, task: await queue.task(id), errors: await queue.errors(id) };
  }

  beforeAll(async () => {
    const handlers = await temporaryDirectory();
    for (const [type, text] of programs) await write(handlers, `${type}.sh`, text);
    await write(handlers, 'lost.sh', '#!/no/such/interpreter\n');
    const env = { TRACEPARENT: TRACEPARENT.replace('4b', '00') };
    worker = queue.work(['--grace', '300ms'], { handlers, env });
  });
  afterAll(async () => {
    worker.kill('SIGTERM');
    expect(await worker.exit).toEqual({ code: 0, signal: null });
  });

  const again = program(
    '[ "$(cat)" = 2 ] && exit 0\necho \'{"payload":2,"result":"first","delay":"10ms"}\'; exit 79',
  );
  test('that exits with 79 has completed, and runs again with what it has written', async () => {
    const { id, task } = await run(again, 1);
    expect(task).toMatchObject({ status: 'completed', result: 'first' });
    const [next] = await queue.rows<{ id: string }>(
      "select id from taskq.all_tasks where source = 'again of ' || $1",
      id,
    );
    await queue.ended(next!.id);
    expect(await queue.task(next!.id)).toMatchObject({ payload: 2, status: 'completed' });
  });

  const later = program('echo later; exit 79');
  test('that exits with 79 and writes something else has failed', async () => {
    const { task } = await run(later, 1, { max_attempts: 1 });
    expect(task).toMatchObject({
      status: 'dead',
      error: { message: expect.stringMatching(/^exit code 79: expected \{"delay": …, "payload": …/) },
    });
  });

  const about = program(
    'printf \'{"got": %s, "about": "%s"}\' "$(cat)" "$TASKQ_ID $TASKQ_TYPE $TASKQ_QUEUE $TASKQ_ATTEMPT"',
  );
  test('gets the payload on stdin and the task in its environment; its stdout is the result', async () => {
    const { id, task } = await run(about, { to: 'ann', n: [1, null] }, { queue: 'mail' });
    expect(task).toMatchObject({
      status: 'completed',
      result: { got: { to: 'ann', n: [1, null] }, about: `${id} ${about} mail 1` },
    });
  });

  const trace = program('printenv TRACEPARENT || echo none');
  test('gets the trace of its task, and not the one its worker was started in', async () => {
    expect((await run(trace, {}, { traceparent: TRACEPARENT })).task).toMatchObject({ result: TRACEPARENT });
    expect((await run(trace)).task).toMatchObject({ result: 'none' });
  });

  test.each([
    ['text is a string', program('echo two words'), 'two words'],
    ['nothing is no result', program('true'), null],
    ['a number is a number', program('echo 42'), 42],
  ])('%s', async (_, type, result) => {
    expect((await run(type)).task).toMatchObject({ status: 'completed', result });
  });

  const same = program('cat');
  test('gets and gives numbers that JavaScript would change as they are', async () => {
    const exact = '{"id": 9007199254740993, "of": [0.1000000000000000055]}';
    const id = await queue.value('select id from taskq.enqueue($1, $2)', same, exact);
    await queue.ended(String(id));
    expect(await queue.value('select result::text from taskq.all_tasks where id = $1', id)).toBe(exact);
  });

  const deaf = program('exit 0');
  test('need not read its payload, however long', async () => {
    const { task } = await run(deaf, { text: 'x'.repeat(500_000) });
    expect(task).toMatchObject({ status: 'completed' });
  });

  const busy = program(
    '[ "$TASKQ_ATTEMPT" = 2 ] && exit 0\necho busy >&2; echo come back later >&2; exit 75',
  );
  test('that ends with 75 is tried again, and says why', async () => {
    const { task, errors } = await run(busy);
    expect(task).toMatchObject({ status: 'completed', attempts: 1 });
    expect(errors).toMatchObject([{ attempt: 1, error: { name: 'Retry', message: 'come back later' } }]);
  });

  const failing = program(
    'echo first >&2\nyes filler | head -n 2000 >&2\necho "ValueError: no such customer" >&2\nexit 3',
  );
  test('that ends otherwise has failed, with the end of its stderr; every line of it is in the log', async () => {
    const { id, task } = await run(failing, {}, { max_attempts: 1 });
    const error = task.error as { message: string; stack: string };
    expect(error).toMatchObject({
      name: 'ProgramFailed',
      code: '3',
      message: `${failing}.sh ended with exit code 3: ValueError: no such customer`,
    });
    expect(error.stack.length).toBeLessThanOrEqual(3000);
    expect(error.stack).toMatch(/filler\nValueError: no such customer\n$/);
    const logged = () => eventsOf(worker, 'task.log', id);
    await expect.poll(logged).toHaveLength(2002);
    expect(logged()[0]).toMatchObject({ msg: 'first', type: failing, attempt: 1 });
  });

  const killed = program('kill -SEGV $$');
  test('that dies of a signal has failed, and the worker lives', async () => {
    const { task } = await run(killed, {}, { max_attempts: 1 });
    expect(task).toMatchObject({ status: 'dead', error: { message: `${killed}.sh ended with SIGSEGV` } });
    expect((await run(deaf)).task).toMatchObject({ status: 'completed' });
  });

  const endless = program('trap "echo asked >&2" TERM\nwhile true; do sleep 0.05; done');
  test('gets SIGTERM at its timeout, and is killed with its children if it continues', async () => {
    const { task, errors } = await run(endless, {}, { timeout_ms: 400, max_attempts: 1 });
    expect(task).toMatchObject({ status: 'dead', error: { name: 'TimeoutError' } });
    expect(errors).toHaveLength(1);
  });

  const parent = program('sleep 600 &\necho done');
  test('that leaves a child running which holds its output open counts as ended', async () => {
    expect((await run(parent)).task).toMatchObject({ status: 'completed', result: 'done' });
  });

  test('whose interpreter is not here says so', async () => {
    const { task } = await run('lost', {}, { max_attempts: 1 });
    const { message } = task.error as { message: string };
    expect(message).toContain(
      'lost.sh cannot be started: the program named in its first line does not exist',
    );
  });
});

describe('a directory of programs', () => {
  const queue = useWorkers();

  test('with one that may not be executed is refused at the start, by name', async () => {
    const handlers = await temporaryDirectory();
    await write(handlers, 'forgotten.py', '#!/usr/bin/env python3\n', 0o644);
    const worker = queue.work([], { handlers });
    expect(await worker.exit).toEqual({ code: 2, signal: null });
    expect(worker.stderr()).toContain('forgotten.py starts with #! but is not executable');
    expect(worker.stderr()).toContain('chmod +x');
  });

  test('with one that may not be executed stops no producer, and no worker, of other types', async () => {
    const handlers = await temporaryDirectory();
    await write(handlers, 'forgotten.py', '#!/usr/bin/env python3\n', 0o644);
    await write(handlers, 'other.sh', '#!/bin/sh\necho done');
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

  test('with other files: they are no handlers', async () => {
    const handlers = await temporaryDirectory();
    await write(handlers, 'notes.md', '# Notes\n');
    await write(handlers, 'data.json', '{}', 0o644);
    await write(handlers, 'program.sh', '#!/bin/sh\n');
    const id = await queue.enqueue('program');
    const worker = queue.work(['--until-idle'], { handlers });
    expect(await worker.exit).toEqual({ code: 0, signal: null });
    expect(await queue.task(id)).toMatchObject({ status: 'completed' });
    expect(eventsOf(worker, 'worker.started')).toMatchObject([{ types: ['program'] }]);
  });
});
