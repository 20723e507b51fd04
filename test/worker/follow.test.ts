import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { startTaskq } from '../support/start-taskq.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { event, until, useWorkers } from './support/workers.ts';

const queue = useWorkers();
let handlers: string;
let go: string;

beforeEach(async () => {
  handlers = await temporaryDirectory();
  go = join(handlers, 'go');
});

/** Logs a line and waits until the file `go` is there; then logs another. */
async function talker(isolation: string, end = ''): Promise<void> {
  await writeFile(
    join(handlers, 'talk.mjs'),
    `import { existsSync } from 'node:fs';
     export const isolation = '${isolation}';
     export default async (go, ctx) => {
       ctx.log.info('before', { attempt: ctx.attempt });
       ctx.progress(0.25, 'a quarter');
       while (!existsSync(go)) await new Promise((resolve) => setTimeout(resolve, 20));
       ctx.log.warn('after');
       ${end}
       return { talked: true };
     };`,
  );
}

const follow = (id: string, ...args: string[]) =>
  startTaskq(['show', id, '--follow', ...args], { env: { DATABASE_URL: queue.url } });

const shows = (taskq: ReturnType<typeof follow>, text: string) =>
  until(
    async () => taskq.stdout().includes(text),
    async () => `not "${text}": ${taskq.stdout()}${taskq.stderr()}`,
  );

describe.each(['inline', 'process'])('taskq show --follow of a handler (%s)', (isolation) => {
  test('that runs prints lines and progress while it runs, then its result', async () => {
    await talker(isolation);
    const id = await queue.enqueue('talk', go);
    const worker = queue.work(['--until-idle'], { handlers });
    await queue.hasStatus(id, 'running');
    const following = follow(id);
    await shows(following, '  info   before  {"attempt":1}\n');
    await shows(following, '  25 %  a quarter\n');
    expect(await queue.task(id)).toMatchObject({ status: 'running' });
    const documents = follow(id, '--json');
    await shows(documents, '"progress"');
    expect(documents.logs()[0]).toEqual({ event: 'status', id, status: 'running' });
    await writeFile(go, '');
    expect(await following.exit).toEqual({ code: 0, signal: null });
    expect(following.stdout()).toMatch(/ {2}warn {3}after\n.*{"talked":true}\n$/s);
    expect(following.stderr()).toContain(`task ${id} is running\n`);
    await worker.exit;
  });
});

test('a task that waits is followed from its first line, through its retries, and fails with 1', async () => {
  await talker('inline', `throw new Error('no. ' + ctx.attempt);`);
  await writeFile(go, '');
  const worker = queue.work([], { handlers });
  await worker.waitForLog(event('worker.started'));
  await queue.rows("select taskq.pause_queue('default', 'a test')");
  const id = await queue.enqueue('talk', go, { max_attempts: 2 });
  const following = follow(id, '--json');
  await until(
    async () => following.logs().some((line) => line.event === 'status'),
    async () => following.stderr(),
  );
  await queue.rows("select taskq.resume_queue('default')");
  expect(await following.exit).toEqual({ code: 1, signal: null });
  const lines = following.logs();
  expect(lines.filter((line) => line.event === 'line')).toMatchObject([
    { id, attempt: 1, level: 'info', message: 'before', fields: { attempt: 1 } },
    { id, attempt: 1, level: 'warn', message: 'after' },
    { id, attempt: 2, level: 'info', message: 'before' },
    { id, attempt: 2, level: 'warn', message: 'after' },
  ]);
  const failed = lines.filter((line) => line.event === 'error');
  expect(failed).toMatchObject([
    { id, attempt: 1, outcome: 'failed', error: { message: 'no. 1' }, retry_at: expect.any(String) },
    { id, attempt: 2, outcome: 'failed', error: { message: 'no. 2' }, retry_at: null },
  ]);
  expect(lines.indexOf(failed[0]!)).toBeLessThan(
    lines.findIndex(({ event, attempt }) => event === 'line' && attempt === 2),
  );
  expect(lines.at(-1)).toMatchObject({ event: 'end', id, status: 'dead', error: { message: 'no. 2' } });
});

test('of a task that waits, it names the command that says why', async () => {
  const id = await queue.enqueue('talk', go, { delay_ms: 3_600_000 });
  const following = follow(id);
  await until(
    async () => following.stderr() !== '',
    async () => 'no status',
  );
  expect(following.stderr()).toBe(`task ${id} is pending: see taskq explain ${id}\n`);
  following.kill('SIGINT');
  await following.exit;
});

test('Ctrl-C ends only the following; an unknown task is an error', async () => {
  await talker('inline');
  const id = await queue.enqueue('talk', go);
  const worker = queue.work(['--until-idle'], { handlers });
  const following = follow(id);
  await shows(following, 'a quarter');
  following.kill('SIGINT');
  expect(await following.exit).toEqual({ code: 130, signal: null });
  expect(await queue.task(id)).toMatchObject({ status: 'running' });
  await writeFile(go, '');
  expect(await worker.exit).toEqual({ code: 0, signal: null });
  expect(await queue.run('show', '999999', '--follow')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('999999'),
  });
});

test('a task that has ended is shown with what is kept, at once', async () => {
  await talker('inline', `throw new Error('over');`);
  await writeFile(go, '');
  const id = await queue.enqueue('talk', go, { max_attempts: 1 });
  await queue.work(['--until-idle'], { handlers }).exit;
  const { code, stdout, stderr } = await queue.run('show', id, '--follow');
  expect({ code, stderr }).toMatchObject({ code: 1, stderr: expect.stringContaining('Error: over') });
  expect(stdout).toMatch(/info {3}before.*\n[\s\S]*warn {3}after\n/);
  expect(stdout).toMatch(/25 %[\s\S]* {2}attempt 1: failed \(Error: over\)\n$/);
});
