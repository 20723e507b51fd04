import { chmod, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { event, until, useWorkers } from './support/workers.ts';

const UNTIL_RELEASED = `
  import { existsSync } from 'node:fs';
  const released = (path, ctx) => new Promise((resolve) => {
    const look = () => existsSync(path) || ctx.signal.aborted ? resolve() : setTimeout(look, 10);
    look();
  });`;

const KINDS = ['inline', 'process'];

/** Writes a module, or a program, into a handlers' directory. */
async function write(directory: string, file: string, text: string): Promise<void> {
  await writeFile(join(directory, file), text);
  if (!file.endsWith('.mjs')) await chmod(join(directory, file), 0o755);
}

/** What is asked of the progress of tasks. */
function progressIn(queue: ReturnType<typeof useWorkers>) {
  const progressOf = async (id: string) =>
    (await queue.task(id)).progress as { value: number; text: string | null; at: string } | null;
  return {
    progressOf,
    /** Waits until the progress of a task is stored. */
    reached: (id: string, value: number) =>
      until(
        async () => (await progressOf(id))?.value === value,
        async () => `not ${value}: ${JSON.stringify(await queue.task(id))}`,
      ),
  };
}

describe('in one worker', () => {
  const queue = useWorkers('file');
  const { reached } = progressIn(queue);
  const files = new Map<string, string>();

  /** Gives the worker a handler, and returns its type. */
  function handler(extension: string, text: string): string {
    const type = `handler-${files.size + 1}`;
    files.set(`${type}.${extension}`, text);
    return type;
  }

  beforeAll(async () => {
    const handlers = await temporaryDirectory();
    for (const [file, text] of files) await write(handlers, file, text);
    queue.work([], { handlers });
  });

  describe.each(KINDS)('a handler (%s)', (isolation) => {
    const exported = `export const isolation = '${isolation}';`;

    const copy = handler(
      'mjs',
      `${UNTIL_RELEASED} ${exported}
         export default async (path, { progress, signal }) => {
           for (let n = 0; n <= 40; n++) progress(n / 100, \`file \${n}\`);
           await released(path, { signal });
           progress(1);
         }`,
    );
    test('says how far it has come while it runs; the last progress stays with the task that has ended', async () => {
      const path = join(await temporaryDirectory(), 'go');
      const id = await queue.enqueue(copy, path);
      await reached(id, 0.4);
      expect(await queue.task(id)).toMatchObject({ status: 'running', progress: { text: 'file 40' } });
      expect((await queue.run('show', id)).stdout).toMatch(/^ {2}progress +40 % {2}file 40 {2}\(.*\)$/m);
      await writeFile(path, '');
      await queue.ended(id);
      expect(await queue.task(id)).toMatchObject({ status: 'completed', progress: { value: 1, text: null } });
      expect(JSON.parse((await queue.run('show', id, '--json')).stdout)).toMatchObject({
        progress: { value: 1, text: null, at: expect.any(String) },
      });
    });

    const bad = handler('mjs', `${exported} export default (_, ctx) => { ctx.progress('half'); };`);
    test('that gives no number for its progress gets an error at once, and nothing is stored', async () => {
      const id = await queue.enqueue(bad, {}, { max_attempts: 1 });
      await queue.ended(id);
      expect(await queue.task(id)).toMatchObject({ status: 'dead', progress: null });
      expect(await queue.errors(id)).toMatchObject([
        { error: { name: 'TypeError', message: `progress 'half': expected a number, such as 0.4` } },
      ]);
    });

    const odd = handler(
      'mjs',
      `${exported} export default (_, { warn }) => {
           warn(new RangeError('odd line', { cause: 'line 7' }));
           warn('plain');
         };`,
    );
    test('warns: each warning is an error of the task, which completes', async () => {
      const id = await queue.enqueue(odd);
      await queue.ended(id);
      expect(await queue.task(id)).toMatchObject({ status: 'completed', attempts: 0, error: null });
      expect(await queue.errors(id)).toMatchObject([
        { attempt: 1, outcome: 'warned', error: { name: 'RangeError', message: 'odd line' } },
        { attempt: 1, outcome: 'warned', error: { name: 'Warning', message: 'plain' } },
      ]);
      const { stdout } = await queue.run('show', id);
      expect(stdout).toMatch(/^attempt 1: warning {2}.*\n {2}RangeError: odd line$/m);
      expect(stdout).toMatch(/^ +at /m);
      expect(stdout).not.toMatch(/^ +at .*(dist|async_hooks)/m);
      expect(stdout).toContain('caused by NonError: line 7');
    });

    const noisy = handler(
      'mjs',
      `${exported} export default (_, ctx) => { for (let n = 1; n <= 257; n++) ctx.warn(\`no. \${n}\`); throw new Error('over'); };`,
    );
    test('that warns more often than 100 times has 100 stored, and the rest counted', async () => {
      const id = await queue.enqueue(noisy, {}, { max_attempts: 1 });
      await queue.ended(id);
      const { errors } = JSON.parse((await queue.run('show', id, '--json')).stdout) as {
        errors: { outcome: string; error: { message: string } }[];
      };
      const messages = errors.map(({ outcome, error }) => `${outcome}: ${error.message}`);
      expect(messages).toHaveLength(102);
      expect(messages.slice(98)).toEqual([
        'warned: no. 99',
        'warned: no. 100',
        'warned: 157 more warnings, not stored',
        'failed: over',
      ]);
    });
  });

  describe('a program', () => {
    const count = handler(
      'sh',
      `#!/bin/sh
echo '{"progress": 0.25, "text": "a quarter"}' >&3
echo '{"warn": "not so good"}' >&3
echo '{"warn": {"name": "OddLine", "message": "line 7", "code": "E7"}}' >&3
echo '{"progress": 0.33333333333333331483}' >&3
printf '{"progress": 0.75000000000000011102}' >&3
echo done
`,
    );
    test('reports on file descriptor 3, a line each', async () => {
      const id = await queue.enqueue(count);
      await queue.ended(id);
      expect(await queue.task(id)).toMatchObject({
        status: 'completed',
        result: 'done',
        // As the nearest double, whatever digits the program prints.
        progress: { value: 0.7500000000000001 },
      });
      expect(await queue.errors(id)).toMatchObject([
        { outcome: 'warned', error: { name: 'Warning', message: 'not so good' } },
        { outcome: 'warned', error: { name: 'OddLine', message: 'line 7', code: 'E7' } },
      ]);
    });

    test.each(
      [
        [
          '{"progress": "half"}',
          `file descriptor 3, line 2: progress 'half': expected a number, such as 0.4`,
        ],
        ['halfway', 'file descriptor 3, line 2: expected a JSON object'],
        ['[1]', 'file descriptor 3, line 2: expected a JSON object'],
        ['{"percent": 4}', 'file descriptor 3, line 2: expected one of progress, warn, enqueue'],
      ].map(([line, message]) => {
        const type = handler('sh', `#!/bin/sh\necho '{"progress": 0.1}' >&3\necho '${line}' >&3\n`);
        return { line, message, type };
      }),
    )('that reports $line has failed', async ({ message, type }) => {
      const id = await queue.enqueue(type, {}, { max_attempts: 1 });
      await queue.ended(id);
      expect(await queue.task(id)).toMatchObject({
        status: 'dead',
        error: { message },
        progress: { value: 0.1 },
      });
    });
  });
});

describe('in a worker of their own', () => {
  const queue = useWorkers();
  const { progressOf, reached } = progressIn(queue);
  let handlers: string;

  beforeEach(async () => {
    handlers = await temporaryDirectory();
  });

  const handler = (file: string, text: string) => write(handlers, file, text);

  describe.each(KINDS)('a handler (%s)', (isolation) => {
    const exported = `export const isolation = '${isolation}';`;

    test('whose lease another worker has taken changes neither progress nor errors of the task', async () => {
      const path = join(handlers, 'go');
      await handler(
        'zombie.mjs',
        `${UNTIL_RELEASED} ${exported}
         export default async (path, ctx) => {
           ctx.progress(0.1);
           await released(path, { signal: { aborted: false } });
           ctx.progress(0.9);
           ctx.warn('late');
           ctx.log.info('late');
         }`,
      );
      const id = await queue.enqueue('zombie', path);
      const worker = queue.work(['--grace', '1s'], { handlers });
      const started = await worker.waitForLog(event('worker.started'));
      await reached(id, 0.1);
      await queue.rows("select taskq.pause_queue('default', 'a test')");
      worker.kill('SIGSTOP');
      await queue.robbed(started);
      // Another worker has it now, and has come less far.
      await queue.rows(
        `update taskq.tasks set progress = '{"value": 0.05, "text": null, "at": "2026-01-01T00:00:00Z"}'`,
      );
      await writeFile(path, '');
      worker.kill('SIGCONT');
      await worker.waitForLog(event('lease.lost', id));
      worker.kill('SIGTERM');
      await worker.exit;
      expect(await progressOf(id)).toMatchObject({ value: 0.05 });
      expect((await queue.errors(id)).map(({ outcome }) => outcome)).toEqual(['lost']);
      expect(await queue.rows('select from taskq.task_logs')).toEqual([]);
    });

    test('that fails has the last 100 lines of its log stored; one that completes has none', async () => {
      await handler(
        'chatty.mjs',
        `${exported} export default async (how, { log }) => {
           for (let n = 1; n <= 140; n++) log.info(\`line \${n}\`, { n });
           log.warn('x'.repeat(5000));
           log.error('with fields', { big: 'y'.repeat(5000) });
           log.debug('the end');
           if (how === 'throw') throw new Error('over');
         };`,
      );
      const failed = await queue.enqueue('chatty', 'throw', { max_attempts: 1 });
      const completed = await queue.enqueue('chatty', 'return');
      await queue.work(['--until-idle'], { handlers, env: { TASKQ_LOG_LEVEL: 'info' } }).exit;
      const { logs } = JSON.parse((await queue.run('show', failed, '--json')).stdout) as {
        logs: {
          attempt: number;
          left_out: number;
          lines: { level: string; message: string; fields: unknown }[];
        }[];
      };
      expect(logs).toMatchObject([{ attempt: 1, left_out: 42 }]);
      expect(logs[0]!.lines).toHaveLength(100);
      expect(logs[0]!.lines[0]).toMatchObject({ level: 'info', message: 'line 43', fields: { n: 43 } });
      expect(logs[0]!.lines.at(-2)).toMatchObject({ level: 'warn', message: expect.stringMatching(/^x+…$/) });
      expect(logs[0]!.lines.at(-1)).toMatchObject({
        level: 'error',
        fields: expect.stringMatching(/^{"big":"y+…$/),
      });
      for (const line of logs[0]!.lines)
        expect(Buffer.byteLength(JSON.stringify([line.message, line.fields]))).toBeLessThan(2200);
      const { stdout } = await queue.run('show', failed);
      expect(stdout).toMatch(/^attempt 1: log {2}42 lines before these are not kept$/m);
      expect(stdout).toMatch(/^ {2}\S.* {2}info {3}line 43 {2}{"n":43}$/m);
      expect(
        await queue.value('select count(*)::int from taskq.task_logs where task_id = $1', completed),
      ).toBe(0);
    });

    test('of a type that keeps every log, or none, has it stored, or not', async () => {
      const text = `export default async (how, ctx) => { ctx.log.info('hello'); if (how === 'throw') throw new Error('over'); };`;
      await handler('always.mjs', `${exported} export const keepLog = 'always'; ${text}`);
      await handler('never.mjs', `${exported} ${text}`);
      expect((await queue.run('types', 'set', 'never', '--keep-log', 'none')).code).toBe(0);
      const completed = await queue.enqueue('always', 'return');
      const failed = await queue.enqueue('never', 'throw', { max_attempts: 1 });
      await queue.work(['--until-idle'], { handlers }).exit;
      const logged = 'select count(*)::int from taskq.task_logs where task_id = $1';
      expect(await queue.value(logged, completed)).toBe(1);
      expect(await queue.value(logged, failed)).toBe(0);
      expect((await queue.run('types')).stdout).toMatch(/^always .* always /m);
    });

    test('that fails or is given back has its last progress and warnings stored', async () => {
      await handler(
        'ends.mjs',
        `${exported} export default async (how, ctx) => {
           ctx.progress(0.7);
           ctx.warn('before the end');
           ctx.log.info('before the end');
           if (how === 'throw') throw new Error('over');
           await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve));
           throw ctx.signal.reason;
         };`,
      );
      const failed = await queue.enqueue('ends', 'throw', { max_attempts: 1 });
      const interrupted = await queue.enqueue('ends', 'wait');
      const worker = queue.work(['--grace', '100ms'], { handlers });
      await queue.hasStatus(failed, 'dead');
      await reached(interrupted, 0.7);
      worker.kill('SIGTERM');
      await worker.exit;
      expect(await progressOf(failed)).toMatchObject({ value: 0.7 });
      expect((await queue.errors(failed)).map(({ outcome }) => outcome)).toEqual(['warned', 'failed']);
      expect(await queue.task(interrupted)).toMatchObject({ status: 'pending', releases: 1 });
      expect((await queue.errors(interrupted)).map(({ outcome }) => outcome)).toEqual(['warned']);
      expect(await queue.rows('select task_id from taskq.task_logs order by task_id')).toEqual([
        { task_id: failed },
        { task_id: interrupted },
      ]);
    });
  });

  test('an attempt whose row is locked as it ends has its log stored all the same', async () => {
    const path = join(handlers, 'go');
    await handler(
      'fails.mjs',
      `${UNTIL_RELEASED}
       export default async (path, ctx) => {
         ctx.progress(0.5);
         await released(path, ctx);
         ctx.log.info('the last line');
         throw new Error('over');
       }`,
    );
    queue.work([], { handlers });
    // The row is free again while the database waits for it, now to store the log and now to record the outcome.
    for (const heldForMs of [0, 700, 900]) {
      const id = await queue.enqueue('fails', path, { max_attempts: 1 });
      await reached(id, 0.5);
      const other = await queue.session();
      await other.query('begin');
      await other.query('select from taskq.tasks where id = $1 for update', [id]);
      await writeFile(path, '');
      await sleep(heldForMs);
      await other.query('commit');
      await queue.hasStatus(id, 'dead');
      await rm(path);
      expect(await queue.rows('select lines from taskq.task_logs where task_id = $1', id)).toMatchObject([
        { lines: [{ message: 'the last line' }] },
      ]);
    }
  });

  test('logs of many attempts that fail at once are stored some 4 MB at a time', async () => {
    const path = join(handlers, 'go');
    await handler(
      'fails.mjs',
      `${UNTIL_RELEASED}
       export default async (path, ctx) => {
         for (let n = 0; n < 100; n++) ctx.log.info('x'.repeat(2000));
         ctx.progress(0.5);
         await released(path, ctx);
         throw new Error('over');
       }`,
    );
    await recordStatements(
      'insert on taskq.task_logs referencing new table as added',
      'select count(*) from added',
    );
    const ids = await queue.enqueueSome(60, 'fails', path, { max_attempts: 1 });
    queue.work(['--concurrency', '60'], { handlers });
    await reachedSome(ids);
    await writeFile(path, '');
    await recorded('sum(rows) = 60');
    expect(await queue.value<number>('select max(rows) from public.statements')).toBeLessThanOrEqual(20);
  });

  test('a worker that is killed once its notes are stored, before the outcome is, leaves both where they belong', async () => {
    await handler(
      'fails.mjs',
      `export default async (_, ctx) => {
         ctx.log.info(\`attempt \${ctx.attempt}\`);
         ctx.warn('odd');
         ctx.progress(0.5);
         throw new Error('over');
       }`,
    );
    const id = await queue.enqueue('fails', {}, { max_attempts: 1 });
    // The statement that records an outcome never ends.
    await queue.rows(`create function public.keep() returns trigger language plpgsql as $$ begin
      perform pg_sleep(600);
      return old;
    end $$`);
    await queue.rows(
      `create trigger keep before delete on taskq.tasks for each row execute function public.keep()`,
    );
    const first = queue.work([], { handlers });
    const started = await first.waitForLog(event('worker.started'));
    const sleeping =
      "select pid from pg_stat_activity where wait_event = 'PgSleep' and datname = current_database()";
    await until(
      async () => (await queue.rows(sleeping)).length > 0,
      async () => JSON.stringify(await queue.task(id)),
    );
    first.kill('SIGKILL');
    await first.exit;
    await queue.rows(`select pg_terminate_backend(pid, 10000) from (${sleeping}) as s`);
    await queue.rows('drop function public.keep cascade');

    const notes = `select array(select lines #>> '{0,message}' from taskq.task_logs where task_id = $1) as logs,
      array(select outcome::text from taskq.task_errors where task_id = $1 order by failed_at) as errors`;
    expect(await queue.task(id)).toMatchObject({ status: 'running', attempts: 0, progress: { value: 0.5 } });
    expect(await queue.rows(notes, id)).toEqual([{ logs: ['attempt 1'], errors: ['warned'] }]);

    // The attempt has no outcome: it is lost, and the next one is not its second.
    await queue.robbed(started);
    await queue.work(['--until-idle'], { handlers }).exit;
    expect(await queue.task(id)).toMatchObject({ status: 'dead', attempts: 1, progress: { value: 0.5 } });
    expect(await queue.rows(notes, id)).toEqual([
      { logs: ['attempt 1', 'attempt 1'], errors: ['warned', 'lost', 'warned', 'failed'] },
    ]);
  });

  test('progress of all tasks of a worker is stored by one statement, once a second', async () => {
    const path = join(handlers, 'go');
    await handler(
      'many.mjs',
      `${UNTIL_RELEASED}
       export default async (path, ctx) => {
         const timer = setInterval(() => ctx.progress(Math.random()), 5);
         await released(path, ctx);
         clearInterval(timer);
       }`,
    );
    const ids = await queue.enqueueSome(20, 'many', path);
    queue.work(['--concurrency', '20'], { handlers });
    await reachedSome(ids);
    await recordStatements(
      'update on taskq.tasks referencing new table as changed old table as unchanged',
      'select count(*) from changed join unchanged using (id) where changed.progress <> unchanged.progress',
    );
    await recorded('count(*) filter (where rows = 20) >= 4');
    const apart = await queue.value<number>(
      `select min(apart) from (
         select extract(epoch from at - lag(at) over (order by at))::float as apart
         from public.statements where rows = 20
       ) as s`,
    );
    expect(apart).toBeGreaterThan(0.9);
    await writeFile(path, '');
    await queue.drained();
  });

  async function reachedSome(ids: readonly string[]): Promise<void> {
    await until(
      async () => (await queue.value<number>('select count(progress)::int from taskq.tasks')) === ids.length,
      async () => JSON.stringify(await queue.rows('select id, progress from taskq.tasks')),
    );
  }

  /** Records in `public.statements` when each statement of a kind ran from now on, and how many rows it wrote, if any. */
  async function recordStatements(kind: string, countRows: string): Promise<void> {
    await queue.rows('create table public.statements (at timestamptz, rows integer)');
    await queue.rows(`create function public.record_statement() returns trigger language plpgsql as $$ begin
      insert into public.statements select * from (select clock_timestamp(), (${countRows})) as s (at, rows) where rows > 0;
      return null;
    end $$`);
    await queue.rows(
      `create trigger statements after ${kind} for each statement execute function public.record_statement()`,
    );
  }

  /** Waits until this holds of all recorded statements. */
  const recorded = (condition: string) =>
    until(
      async () => await queue.value<boolean>(`select ${condition} from public.statements`),
      async () => JSON.stringify(await queue.rows('select * from public.statements')),
    );
});
