import { cp, mkdir, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { runTaskq } from '../support/run-taskq.ts';
import { REPOSITORY } from '../support/spawn-taskq.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { event, eventsOf, useWorkers } from './support/workers.ts';

const queue = useWorkers();

/**
 * Kept apart from the other tests' handlers: one TypeScript file makes each start of a worker take four times as long.
 */
const EVERY_KIND = join(REPOSITORY, 'test/worker/every-kind/handlers');

describe('a handler file', () => {
  test('of every kind handles the type of its name, in its directory too, and its result is stored', async () => {
    const payload = { name: 'Ada' };
    const ids = await Promise.all(
      ['hello', 'hello-js', 'hello-mjs', 'hello-cjs'].map((type) => queue.enqueue(type, payload)),
    );
    const charge = await queue.enqueue('billing/charge', { cents: 5 }, { backoff: undefined });
    const worker = queue.work(['--until-idle'], { handlers: EVERY_KIND });
    expect(await worker.exit).toEqual({ code: 0, signal: null });

    const results = await Promise.all(ids.map(async (id) => (await queue.task(id)).result));
    expect(results).toEqual([
      { hello: 'Ada', id: ids[0], type: 'hello', queue: 'default', attempt: 1 },
      'js',
      'mjs',
      'cjs',
    ]);
    expect(await queue.task(charge)).toMatchObject({ status: 'completed', result: { cents: 5, attempt: 3 } });
    expect(worker.logs().find(event('task.log'))).toMatchObject({
      level: 'info',
      msg: 'greeting',
      fields: { name: 'Ada' },
      task_id: ids[0],
      type: 'hello',
    });
    expect(eventsOf(worker, 'worker.stopped')[0]).toMatchObject({
      completed: 5,
      failed: 2,
      died: 0,
      left: {},
    });
  });

  test('gets the trace of its task, in the process of the worker and in one of its own', async () => {
    const handlers = await temporaryDirectory();
    await writeFile(join(handlers, 'here.mjs'), 'export default (_, ctx) => ({ trace: ctx.traceparent });');
    await writeFile(
      join(handlers, 'apart.mjs'),
      'export default (_, ctx) => ({ trace: ctx.traceparent }); export const isolation = "process";',
    );
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
    const traced = [
      await queue.enqueue('here', {}, { traceparent }),
      await queue.enqueue('apart', {}, { traceparent }),
    ];
    const untraced = [await queue.enqueue('here'), await queue.enqueue('apart')];
    expect(
      await queue.work(['--until-idle', '--batch', '4', '--concurrency', '1'], { handlers }).exit,
    ).toEqual({ code: 0, signal: null });
    for (const id of traced) expect(await queue.task(id)).toMatchObject({ result: { trace: traceparent } });
    for (const id of untraced) expect(await queue.task(id)).toMatchObject({ result: { trace: null } });
  });

  test('that throws is run again after its back-off; every error is kept with its stack', async () => {
    const id = await queue.enqueue('billing/charge', { cents: 5 }, { backoff: undefined });
    const worker = queue.work(['--until-idle'], { handlers: EVERY_KIND });
    await worker.exit;
    const [first, second, ...others] = await queue.errors(id);
    expect(first).toMatchObject({
      attempt: 1,
      outcome: 'failed',
      error: { name: 'TypeError', message: 'the bank is closed' },
    });
    expect(first!.error.stack).toContain(join('billing', 'charge.ts'));
    expect(second).toMatchObject({ attempt: 2, error: { name: 'Retry', message: 'the bank opens' } });
    expect(others).toEqual([]);
    const [failed, askedAgain] = eventsOf(worker, 'task.failed', id);
    expect(failed!.retry_in_ms).toBeGreaterThanOrEqual(16); // 20 ms, give or take a fifth
    expect(failed!.retry_in_ms).toBeLessThanOrEqual(24);
    expect(askedAgain).toMatchObject({ attempt: 2, retry_in_ms: 10 });
    expect(
      await queue.rows(
        'select max_attempts, backoff from taskq.task_types where name = $1',
        'billing/charge',
      ),
    ).toMatchObject([{ max_attempts: 5, backoff: { kind: 'fixed', base_ms: 20 } }]);
  });

  test('whose attempts are spent leaves a dead letter with the last error', async () => {
    const id = await queue.enqueue('wait', { ends: 'throw' }, { max_attempts: 2 });
    const worker = queue.work(['--until-idle']);
    await worker.exit;
    expect(await queue.task(id)).toMatchObject({
      status: 'dead',
      attempts: 2,
      reason: 'attempts_spent',
      error: { message: 'run 2 failed' },
    });
    expect(eventsOf(worker, 'task.died', id)).toMatchObject([{ attempt: 2, reason: 'attempts_spent' }]);
  });

  test('with a schema gets what the schema made of the payload; one that does not fit is dead at once', async () => {
    const good = await queue.enqueue('checked', { to: { email: ' a@b.c ' } });
    const bad = await queue.enqueue('checked', { to: { email: 7 } });
    await queue.work(['--until-idle'], { handlers: EVERY_KIND }).exit;
    expect(await queue.task(good)).toMatchObject({ status: 'completed', result: 'a@b.c' });
    expect(await queue.task(bad)).toMatchObject({
      status: 'dead',
      attempts: 1,
      reason: 'invalid_payload',
      error: { message: '$.to.email: expected text' },
    });
  });

  test('may throw the signals of another copy of the package', async () => {
    const directory = await temporaryDirectory();
    const copy = join(directory, 'node_modules/taskq');
    await cp(join(REPOSITORY, 'dist'), join(copy, 'dist'), { recursive: true });
    await cp(join(REPOSITORY, 'package.json'), join(copy, 'package.json'));
    await symlink(join(REPOSITORY, 'node_modules'), join(copy, 'node_modules'));
    const handlers = join(directory, 'handlers');
    await mkdir(handlers);
    const signals = {
      retry: "new Retry({ delay: '10ms', message: 'not yet', result: { at: ctx.attempt } })",
      dead: "new Dead('never will')",
      snooze: "new Snooze('10ms')",
      cancel: "new Cancel('nobody wants it')",
      again: 'new Again({ payload: { page: 2 } })',
    };
    for (const [type, signal] of Object.entries(signals)) {
      await writeFile(
        join(handlers, `${type}.ts`),
        `import { Again, Cancel, Dead, Retry, Snooze } from 'taskq';
         let runs = 0;
         export default (_, ctx) => {
           runs += 1;
           if (${type === 'dead' || type === 'cancel'} || runs === 1) throw ${signal};
           return { runs, attempt: ctx.attempt };
         };`,
      );
    }
    const [retry, dead, snooze, cancel, again] = await Promise.all(
      Object.keys(signals).map((type) => queue.enqueue(type)),
    );
    await queue.work(['--until-idle'], { handlers }).exit;
    expect(await queue.task(retry!)).toMatchObject({ status: 'completed', result: { runs: 2, attempt: 2 } });
    expect(
      await queue.rows('select error, result from taskq.task_errors where task_id = $1', retry),
    ).toMatchObject([{ error: { message: 'not yet' }, result: { at: 1 } }]);
    expect(await queue.task(snooze!)).toMatchObject({
      status: 'completed',
      attempts: 0,
      result: { runs: 2, attempt: 1 },
    });
    expect(await queue.task(dead!)).toMatchObject({ status: 'dead', attempts: 1, reason: 'never will' });
    expect(await queue.task(cancel!)).toMatchObject({
      status: 'cancelled',
      cancel_reason: 'nobody wants it',
    });
    expect(await queue.task(again!)).toMatchObject({ status: 'completed', result: null, payload: {} });
    const next =
      "select status::text, payload, result, source from taskq.all_tasks where type = 'again' and id <> $1";
    expect(await queue.rows(next, again)).toEqual([
      {
        status: 'completed',
        payload: { page: 2 },
        result: { runs: 2, attempt: 1 },
        source: `again of ${again}`,
      },
    ]);
  });
});

describe('a type without a handler', () => {
  test('waits unburned, is named as left, and runs when a worker with its handler starts', async () => {
    const handlers = await temporaryDirectory();
    await writeFile(join(handlers, 'known.mjs'), 'export default () => 1;');
    const [known, unknown] = [await queue.enqueue('known'), await queue.enqueue('hello-js')];
    const worker = queue.work(['--until-idle'], { handlers });
    await worker.exit;
    expect(await queue.task(known)).toMatchObject({ status: 'completed' });
    expect(await queue.task(unknown)).toMatchObject({
      status: 'pending',
      attempts: 0,
      losses: 0,
      lease_no: 0,
    });
    expect(eventsOf(worker, 'worker.stopped')[0]).toMatchObject({ left: { of_other_types: 1 } });
    await queue.work(['--until-idle']).exit;
    expect(await queue.task(unknown)).toMatchObject({ status: 'completed' });
  });

  test('is rescued, unburned, by workers that do not handle it, when the one that did is killed', async () => {
    const handlers = await temporaryDirectory();
    await writeFile(join(handlers, 'known.mjs'), 'export default () => 1;');
    const id = await queue.enqueue('wait', { until: 'go' });
    const able = queue.work();
    await queue.saw(id, 'start');
    const other = queue.work([], { handlers });
    await other.waitForLog(event('worker.started'));
    able.kill('SIGKILL');
    await other.waitForLog(event('task.rescued', id));
    const known = await queue.enqueue('known');
    await queue.hasStatus(known, 'completed');
    expect(await queue.task(id)).toMatchObject({
      status: 'pending',
      attempts: 0,
      losses: 1,
      lease_owner: null,
    });
    const abler = queue.work();
    await queue.saw(id, 'start', { times: 2 });
    await queue.witness(id, 'go');
    await abler.waitForLog(event('task.completed', id));
    expect(eventsOf(other, 'task.started', id)).toEqual([]);
    expect(await queue.task(id)).toMatchObject({ status: 'completed', attempts: 0 });
  });
});

describe('a handlers directory', () => {
  const refusals: [string, Record<string, string>, (printed: string) => void][] = [
    [
      'a file with a syntax error',
      { 'bad.mjs': 'export default (' },
      (printed) => expect(printed).toContain('bad.mjs'),
    ],
    [
      'a TypeScript file with a syntax error',
      { 'bad.ts': 'export default (' },
      (printed) => expect(printed).toContain('bad.ts'),
    ],
    [
      'a file that throws',
      { 'bad.mjs': 'throw new Error("no key")' },
      (printed) => expect(printed).toMatch(/bad\.mjs.*no key/),
    ],
    [
      'a file that exports nothing',
      { 'bad.mjs': 'export const x = 1;' },
      (printed) => expect(printed).toMatch(/bad\.mjs: exports no handler/),
    ],
    [
      'an export that is no function',
      { 'bad.cjs': 'module.exports = { go() {} };' },
      (printed) => expect(printed).toMatch(/bad\.cjs: exports no handler/),
    ],
    [
      'an unknown option',
      { 'bad.mjs': 'export default { run() {}, timeOut: 1 }' },
      (printed) => expect(printed).toMatch(/bad\.mjs: unknown option "timeOut".*timeout/),
    ],
    [
      'a bad option beside a bare function',
      { 'bad.mjs': 'export default () => 1; export const maxAttempts = 0;' },
      (printed) => expect(printed).toMatch(/bad\.mjs: maxAttempts 0: expected a number from 1 on/),
    ],
    [
      'a misspelt option beside a bare function',
      { 'bad.ts': "export default () => 1; export const isolatoin = 'process';" },
      (printed) =>
        expect(printed).toMatch(/bad\.ts: unknown option "isolatoin" \(did you mean "isolation"\?\)/),
    ],
    [
      'an option beside an object, which takes none from there',
      { 'bad.mjs': "export default { run() {} }; export const timeout = '1s';" },
      (printed) =>
        expect(printed).toMatch(
          /bad\.mjs: exports "timeout" beside a handler object: put it into the object/,
        ),
    ],
    [
      'two files of one type',
      { 'bad.mjs': 'export default () => 1', 'bad.ts': 'export default () => 1' },
      (printed) => expect(printed).toMatch(/two files handle bad: .*bad\.(mjs|ts).*bad\.(mjs|ts)/),
    ],
    [
      'no handler',
      { '_helper.mjs': '', 'a.test.mjs': '', 'types.d.ts': '' },
      (printed) => expect(printed).toContain('no handlers in'),
    ],
  ];
  test.each(refusals)('with %s is refused with exit code 2 and the file', async (_, files, check) => {
    const handlers = await directoryWith(files);
    const { code, stderr } = await refused(handlers);
    expect(code, stderr).toBe(2);
    check(stderr);
  });

  test('honours options that stand beside a bare function, and leaves other exports alone', async () => {
    const fails = "() => { throw new Error('no'); }";
    const handlers = await directoryWith({
      'esm.mjs': `export default ${fails}; export const maxAttempts = 1; export const schemaOf = () => 1;`,
      'typed.ts': `export default ${fails}; export const maxAttempts: number = 1; export const run = 1;`,
      'common.cjs': `exports.default = ${fails}; exports.maxAttempts = 1;`,
    });
    const ids = [await queue.enqueue('esm'), await queue.enqueue('typed'), await queue.enqueue('common')];
    expect(await queue.work(['--until-idle'], { handlers }).exit).toEqual({ code: 0, signal: null });
    for (const id of ids)
      expect(await queue.task(id)).toMatchObject({ status: 'dead', reason: 'attempts_spent' });
  });

  test('with two files that import a third loads that one once, for both', async () => {
    const handler = "import { note } from './_shared.ts'; export default () => note();";
    const handlers = await directoryWith({
      'a.ts': handler,
      'b.ts': handler,
      '_shared.ts': 'let notes = 0; export const note = (): number => ++notes;',
    });
    const ids = [await queue.enqueue('a'), await queue.enqueue('b')];
    await queue.work(['--until-idle'], { handlers }).exit;
    const results = await Promise.all(ids.map(async (id) => (await queue.task(id)).result));
    expect(results.sort()).toEqual([1, 2]);
  });

  test('that is a file is refused by name', async () => {
    const worker = queue.work([], { handlers: join(REPOSITORY, 'package.json') });
    expect(await worker.exit).toEqual({ code: 2, signal: null });
    expect(worker.stderr()).toContain("package.json is a file, not the handlers' directory");
  });

  test('that does not exist is refused by name', async () => {
    const { code, stderr } = await refused('/nowhere/handlers');
    expect(code).toBe(2);
    expect(stderr).toContain('/nowhere/handlers');
  });

  test('with a link that leads out of it, or nowhere, is refused', async () => {
    const outside = await directoryWith({ 'secret.mjs': 'export default () => 1' });
    for (const target of [join(outside, 'secret.mjs'), outside, '/nowhere/at-all']) {
      const handlers = await directoryWith({ 'good.mjs': 'export default () => 1' });
      await symlink(target, join(handlers, 'link.mjs'));
      const { code, stderr } = await refused(handlers);
      expect(code, stderr).toBe(2);
      expect(stderr).toContain('link.mjs');
    }
  });

  test('with links inside and a loop of links is read to its end', async () => {
    const handlers = await directoryWith({ 'real/one.mjs': 'export default () => "one"' });
    await symlink(join(handlers, 'real'), join(handlers, 'alias'));
    await symlink(handlers, join(handlers, 'real', 'loop'));
    const ids = [await queue.enqueue('real/one'), await queue.enqueue('alias/one')];
    const worker = queue.work(['--until-idle'], { handlers });
    expect(await worker.exit).toEqual({ code: 0, signal: null });
    for (const id of ids) expect(await queue.task(id)).toMatchObject({ status: 'completed', result: 'one' });
  });

  test('gives no way to names that are no types', async () => {
    const types = ['__proto__', 'constructor', 'toString'];
    const ids = await Promise.all(types.map((type) => queue.enqueue(type)));
    const good = await queue.enqueue('hello-js');
    await queue.work(['--until-idle']).exit;
    expect(await queue.task(good)).toMatchObject({ status: 'completed' });
    for (const id of ids) expect(await queue.task(id)).toMatchObject({ status: 'pending', lease_no: 0 });
  });
});

async function directoryWith(files: Readonly<Record<string, string>>): Promise<string> {
  const directory = await temporaryDirectory();
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(directory, name)), { recursive: true });
    await writeFile(join(directory, name), text);
  }
  return directory;
}

function refused(handlers: string) {
  return runTaskq(['work', '--handlers', handlers], { env: { DATABASE_URL: queue.url } });
}
