/*
 * `npm run demo`: the whole of taskq on real input, through its command line alone. Every file below node_modules
 * becomes a task that computes its hash; a worker does them; every stored result is compared with a hash computed
 * here. Some tasks fail twice and then succeed, some end as dead letters, and one of these is revived.
 * Exits 0 only if every check holds.
 */
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { hashOf } from './hash-of.ts';
import { summaryOf } from './summary.ts';
import { type TaskJson, taskq } from './taskq.ts';

const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url));
const FLAKY = 4;
const HOPELESS = 3;

const project = await mkdtemp(join(tmpdir(), 'taskq-demo-'));
const { running: wasRunning } = JSON.parse(await taskq(['db', 'status', '--json'], { cwd: project })) as {
  running: boolean;
};
process.exitCode = 1;
try {
  await demo();
  process.exitCode = 0;
} catch (error) {
  console.error(`\ndemo failed: ${error instanceof Error ? error.message : error}`);
} finally {
  await taskq(['db', 'reset', '--yes', '--quiet'], { cwd: project }).catch(() => {});
  if (!wasRunning) await taskq(['db', 'stop', '--quiet'], { cwd: project }).catch(() => {});
  await rm(project, { recursive: true, force: true });
}

async function demo(): Promise<void> {
  // A project of its own, and so a database of its own.
  await writeFile(join(project, 'package.json'), '{"name": "taskq-demo"}');
  const settings = { handlers: join(REPOSITORY, 'handlers'), types: ['hash-file', 'flaky'] };
  await writeFile(join(project, 'taskq.config.json'), JSON.stringify(settings));
  const run = (args: string[], input?: string) =>
    taskq(args, { cwd: project, ...(input !== undefined && { input }) });

  heading('a database of our own');
  await run(['db', 'start']);
  await run(['migrate']);

  heading('one task per file below node_modules, and some that will not go well');
  const paths = await filesBelow(join(REPOSITORY, 'node_modules'));
  const lines = (payloads: object[]) => payloads.map((payload) => `${JSON.stringify(payload)}\n`).join('');
  const began = performance.now();
  await run(['enqueue', 'hash-file', '--file', '-'], lines(paths.map((path) => ({ path }))));
  const enqueueMs = performance.now() - began;
  const missing = Array.from({ length: HOPELESS }, (_, n) => ({ path: join(project, `nowhere-${n}`) }));
  await run(['enqueue', 'hash-file', '--file', '-'], lines(missing));
  const flaky = Array.from({ length: FLAKY }, () => ({ failures: 2 }));
  await run(['enqueue', 'flaky', '--file', '-'], lines(flaky));

  heading('a worker');
  const started = performance.now();
  await run(['work', '--concurrency', '8', '--until-idle']);
  const workMs = performance.now() - started;

  heading('what ended as a dead letter');
  await run(['dead', 'list']);
  const dead = await list(run, ['dead', 'list']);
  check(dead.length === HOPELESS, `${HOPELESS} dead letters, not ${dead.length}`);

  heading('one of them is revived, with a path that exists');
  const revived = dead[0]!.id;
  const found = join(project, 'package.json');
  await run(['dead', 'revive', revived, '--payload', JSON.stringify({ path: found })]);
  await run(['work', '--until-idle']);

  heading('every result against a hash computed here');
  const completed = await list(run, ['list', '--status', 'completed', '--limit', '100000']);
  const hashed = completed.filter((task) => task.type === 'hash-file');
  check(hashed.length === paths.length + 1, `${paths.length + 1} hashes, not ${hashed.length}`);
  for (const { id, payload, result } of hashed) {
    const expected = await hashOf(payload.path as string);
    check(
      result?.sha256 === expected,
      `task ${id} says ${result?.sha256} of ${payload.path}, it is ${expected}`,
    );
  }
  const expectedPaths = new Set([...paths, found]);
  check(
    hashed.every(({ payload }) => expectedPaths.delete(payload.path as string)),
    'every path exactly once',
  );
  const retried = completed.filter((task) => task.type === 'flaky');
  check(retried.length === FLAKY, `${FLAKY} flaky tasks that succeeded in the end, not ${retried.length}`);
  check(
    retried.every((task) => task.attempts === 2),
    'two failed attempts of each flaky task',
  );
  const ids = (await list(run, ['dead', 'list'])).map((task) => task.id);
  check(ids.length === HOPELESS - 1 && !ids.includes(revived), 'the revived task is no longer a dead letter');

  const figures = {
    completed: completed.length,
    flaky: FLAKY,
    hopeless: HOPELESS,
    enqueuedPerSecond: paths.length / (enqueueMs / 1000),
    workedOffPerSecond: (paths.length + FLAKY + HOPELESS) / (workMs / 1000),
  };
  console.log(`\n${summaryOf(figures)}\n`);
}

type Run = (args: string[]) => Promise<string>;

async function list(run: Run, args: string[]): Promise<TaskJson[]> {
  const { tasks } = JSON.parse(await run([...args, '--json'])) as { tasks: TaskJson[] };
  return tasks;
}

async function filesBelow(directory: string): Promise<string[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}

function heading(text: string): void {
  console.log(`\n# ${text}`);
}

function check(holds: boolean, expectation: string): void {
  if (!holds) throw new Error(`expected ${expectation}`);
}
