import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { waitUntil } from './queue/waiting.ts';
import { createTestDatabase, type TestDatabase } from './support/database.ts';
import { runCommand } from './support/run-command.ts';
import { type RunningProgram, startProgram } from './support/run-program.ts';
import { REPOSITORY } from './support/spawn-taskq.ts';

const EXAMPLES = join(REPOSITORY, 'examples');

let database: TestDatabase;
const started: RunningProgram[] = [];

/** Start an example as its first lines say. */
function start(name: string): RunningProgram {
  const program = startProgram(join(EXAMPLES, name), { DATABASE_URL: database.url });
  started.push(program);
  return program;
}

beforeAll(async () => {
  database = await createTestDatabase();
});
afterEach(() => Promise.all(started.splice(0).map((program) => program.kill())));
afterAll(() => database.drop());

test('an enqueue script and an application with a worker inside: the task runs, and both end in order', async () => {
  const application = start('application.mjs');
  await waitUntil(
    async () => application.output().includes('worker.started'),
    'the application does not work',
  );
  const script = start('enqueue.mjs');
  expect(await script.exit).toBe(0);
  const [, order, id] = /^order (\d+), task (\d+)\ncompleted/.exec(script.output()) ?? [];
  expect(script.output()).toContain(`{ sent: true, order: '${order}' }`);
  application.signal('SIGTERM');
  expect(await application.exit).toBe(0);
  const shown = await runCommand(['show', id!, '--json'], { env: { DATABASE_URL: database.url } });
  expect(JSON.parse(shown.stdout)).toMatchObject({
    status: 'completed',
    attempts: 0,
    errors: [{ outcome: 'snoozed', result: { order, state: 'printing' } }],
  });
});

test('every example is run here', () => {
  expect(readdirSync(EXAMPLES)).toEqual(['application.mjs', 'enqueue.mjs']);
});
