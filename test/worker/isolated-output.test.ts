import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { useWorkers } from './support/workers.ts';

/* What handlers in a process of their own log and print. */

const BINARY = fileURLToPath(new URL('../../bin/taskq.js', import.meta.url));
const queue = useWorkers();

test('a late line of a task is not kept with the next task of its process', async () => {
  const handlers = await temporaryDirectory();
  const handler = `export default {
    isolation: 'process', maxAttempts: 1,
    async run({ who }, ctx) {
      if (who === 'first') return void (globalThis.late = () => ctx.log.info('a line of the first task'));
      globalThis.late();
      ctx.log.info('a line of the second task');
      throw new Error('it keeps its log');
    },
  };`;
  await writeFile(join(handlers, 'talk.mjs'), handler);
  await queue.enqueue('talk', { who: 'first' });
  const second = await queue.enqueue('talk', { who: 'second' });
  const worker = queue.work(['--until-idle', '--concurrency', '1'], { handlers });
  await worker.exit;
  const { stdout } = await queue.run('show', second);
  expect(stdout).toContain('a line of the second task');
  expect(stdout).not.toContain('a line of the first task');
});

test('all that it prints arrives, also where the reader is slow and its process ends', async () => {
  const handlers = await temporaryDirectory();
  const done = join(handlers, 'done');
  const handler = `import { writeFileSync } from 'node:fs';
  export default {
    isolation: 'process',
    run() {
      for (let n = 0; n < 8000; n++) console.log('line ' + n + ' ' + 'x'.repeat(90));
      writeFileSync(${JSON.stringify(done)}, '');
    },
  };`;
  await writeFile(join(handlers, 'print.mjs'), handler);
  await queue.enqueue('print');
  const worker = spawn(process.execPath, [BINARY, 'work', '--until-idle', '--handlers', handlers], {
    env: { ...process.env, DATABASE_URL: queue.url, TASKQ_POLL: '200ms' },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const ended = once(worker, 'exit');
  await expect.poll(() => existsSync(done)).toBe(true);
  await Promise.race([ended, sleep(1000)]);
  const printed = await text(worker.stderr);
  await ended;
  expect(printed.split('\n').filter((line) => line.startsWith('line '))).toHaveLength(8000);
  expect(await queue.counts()).toEqual({ completed: 1 });
});

test('a field of a log line that has no JSON loses neither the line nor its other fields', async () => {
  const handlers = await temporaryDirectory();
  const handler = `export default {
    isolation: 'process', maxAttempts: 1,
    async run(payload, ctx) {
      const circle = {};
      circle.circle = circle;
      ctx.log.info('counted', { rows: 12n, circle, table: 'orders' });
      throw new Error('it keeps its log');
    },
  };`;
  await writeFile(join(handlers, 'count.mjs'), handler);
  const id = await queue.enqueue('count');
  await queue.work(['--until-idle'], { handlers }).exit;
  const { stdout } = await queue.run('show', id);
  expect(stdout).toMatch(/counted.*orders/);
  expect(stdout).toMatch(/counted.*12/);
  expect(stdout).toMatch(/counted.*not shown: Converting circular structure to JSON/);
});
