import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { emptyDatabase } from '../support/database.ts';
import { runTaskq } from '../support/run-taskq.ts';
import { REPOSITORY } from '../support/spawn-taskq.ts';
import type { LogLine, RunningTaskq } from '../support/start-taskq.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { eventsOf, until, useWorkers } from './support/workers.ts';

const queue = useWorkers();

/** A supervisor whose workers have all started; their grace is a second. */
async function supervised(processes: number, args: readonly string[] = [], handlers?: string) {
  const supervisor = queue.work(['--processes', String(processes), '--grace', '1s', ...args], {
    ...(handlers !== undefined && { handlers }),
  });
  const workers = await started(supervisor, processes);
  return { supervisor, workers };
}

/** Waits until this many workers have started in all. Returns their process ids. */
async function started(supervisor: RunningTaskq, times: number, limitMs?: number): Promise<number[]> {
  await logged(supervisor, 'worker.started', times, limitMs);
  return eventsOf(supervisor, 'worker.started').map(({ pid }) => Number(pid));
}

async function logged(supervisor: RunningTaskq, name: string, times = 1, limitMs?: number): Promise<LogLine> {
  await until(
    async () => eventsOf(supervisor, name).length >= times,
    async () => `not ${times} times ${name}:\n${supervisor.stdout()}${supervisor.stderr()}`,
    limitMs,
  );
  return eventsOf(supervisor, name)[times - 1]!;
}

function gone(pid: number): Promise<void> {
  return until(
    async () => !isAlive(pid),
    async () => `process ${pid} lives on`,
  );
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

describe('work --processes', () => {
  test('runs n workers, and SIGTERM drains them all: running tasks end, the rest stay pending, exit 0', async () => {
    const ids = await queue.enqueueSome(12, 'wait', { until: 'go' });
    const { supervisor, workers } = await supervised(3, [
      '--concurrency',
      '2',
      '--grace',
      '20s',
      '--lease',
      '30s',
    ]);
    expect(new Set(workers).size).toBe(3);
    await until(
      async () => (await queue.value("select count(*)::int from witness where event = 'start'")) === 6,
      async () => JSON.stringify(await queue.counts()),
    );
    supervisor.kill();
    await logged(supervisor, 'worker.stopping', 3);
    for (const id of ids) await queue.witness(id, 'go');
    expect(await supervisor.exit).toEqual({ code: 0, signal: null });
    expect(await queue.counts()).toEqual({ completed: 6, pending: 6 });
    expect(await queue.rows("select distinct pid from witness where event = 'start'")).toHaveLength(3);
    expect(await queue.value('select count(*)::int from taskq.workers where stopped_at is null')).toBe(0);
    expect(workers.filter(isAlive)).toEqual([]);
  });

  test('starts another where one is killed, whose tasks run again; the others are not disturbed', async () => {
    const { supervisor, workers } = await supervised(2, ['--lease', '6s']);
    const ids = await queue.enqueueSome(4, 'wait', { until: 'go' });
    for (const id of ids) await queue.saw(id, 'start');
    const [victim] = workers;
    const robbed = await queue.rows<{ task_id: string }>(
      "select task_id from witness where event = 'start' and pid = $1",
      victim,
    );
    process.kill(victim!, 'SIGKILL');
    expect(await logged(supervisor, 'worker.died')).toMatchObject({
      level: 'error',
      pid: victim,
      signal: 'SIGKILL',
      exit_code: null,
    });
    expect(await started(supervisor, 3)).not.toContain(undefined);
    for (const id of ids) await queue.witness(id, 'go');
    await queue.drained();
    const twice = await queue.rows(
      "select task_id from witness where event = 'start' group by 1 having count(*) > 1 order by 1",
    );
    expect(twice).toEqual(robbed.sort((a, b) => Number(a.task_id) - Number(b.task_id)));
    expect(await queue.counts()).toEqual({ completed: 4 });
    supervisor.kill();
    expect(await supervisor.exit).toEqual({ code: 0, signal: null });
  });

  test.each([
    ['SIGTERM', 143],
    ['SIGINT', 130],
  ] as const)(
    'a second %s hurries them all: everything is given back unburned, exit %d',
    async (signal, code) => {
      const { supervisor } = await supervised(2, ['--grace', '60s', '--lease', '30s']);
      const ids = await queue.enqueueSome(4, 'wait', { until: 'never' });
      for (const id of ids) await queue.saw(id, 'start');
      supervisor.kill(signal);
      await logged(supervisor, 'worker.stopping', 2);
      await sleep(600);
      supervisor.kill(signal);
      expect(await supervisor.exit).toEqual({ code, signal: null });
      expect(await queue.rows('select distinct attempts, losses, status::text from taskq.tasks')).toEqual([
        { attempts: 0, losses: 0, status: 'pending' },
      ]);
    },
  );

  test('a hurried worker that cannot answer is killed', async () => {
    const { supervisor, workers } = await supervised(2);
    const id = await queue.enqueue('spin');
    await queue.saw(id, 'start');
    supervisor.kill();
    await logged(supervisor, 'worker.stopped'); // of the other one
    await sleep(600);
    supervisor.kill();
    expect(await supervisor.exit).toEqual({ code: 1, signal: null });
    expect(workers.filter(isAlive)).toEqual([]);
  });

  test('workers whose supervisor is killed drain and end by themselves', async () => {
    const { supervisor, workers } = await supervised(2, [
      '--concurrency',
      '2',
      '--grace',
      '20s',
      '--lease',
      '30s',
    ]);
    const ids = await queue.enqueueSome(4, 'wait', { until: 'go' });
    for (const id of ids) await queue.saw(id, 'start');
    supervisor.kill('SIGKILL');
    await supervisor.exit;
    await until(
      () => queue.value("select bool_and(status = 'stopping') from taskq.list_workers()"),
      async () => JSON.stringify(await queue.rows('select pid, status from taskq.list_workers()')),
    );
    const late = await queue.enqueue('wait', { ms: 1 });
    expect(workers.filter(isAlive)).toEqual(workers);
    for (const id of ids) await queue.witness(id, 'go');
    for (const pid of workers) await gone(pid);
    expect(await queue.counts()).toEqual({ completed: 4, pending: 1 });
    expect(await queue.task(late)).toMatchObject({ lease_no: 0 });
  });

  test('a worker that retires, or whose handler ends its process, is started again', async () => {
    const { supervisor } = await supervised(2);
    await queue.enqueue('stray', { how: 'rejection' }, { max_attempts: 1 });
    expect(await logged(supervisor, 'worker.died')).toMatchObject({ exit_code: 1, signal: null });
    await started(supervisor, 3);
    const id = await queue.enqueue('crash', { how: 'exit' }, { max_attempts: 1 });
    expect(await logged(supervisor, 'worker.died', 2)).toMatchObject({ exit_code: 1, signal: null });
    await queue.hasStatus(id, 'dead');
    await started(supervisor, 4);
    supervisor.kill();
    expect(await supervisor.exit).toEqual({ code: 0, signal: null });
  });

  test('a worker that was asked to end by itself is not started again; with the last one ends the command', async () => {
    const { supervisor, workers } = await supervised(2);
    process.kill(workers[0]!, 'SIGTERM');
    await gone(workers[0]!);
    const id = await queue.enqueue('wait', { ms: 1 });
    await queue.hasStatus(id, 'completed');
    process.kill(workers[1]!, 'SIGTERM');
    expect(await supervisor.exit).toEqual({ code: 0, signal: null });
    expect(eventsOf(supervisor, 'worker.died')).toEqual([]);
  });

  test('--until-idle ends when all is done, exit 0', async () => {
    const ids = await queue.enqueueSome(30, 'wait', { ms: 20 });
    const supervisor = queue.work(['--processes', '3', '--until-idle']);
    expect(await supervisor.exit).toEqual({ code: 0, signal: null });
    expect(await queue.counts()).toEqual({ completed: ids.length });
  });

  test('--max-tasks, which counts what one process does, is refused with it', async () => {
    const env = { DATABASE_URL: queue.url };
    const { code, stderr } = await runTaskq(['work', '--processes', '2', '--max-tasks', '5'], { env });
    expect(code).toBe(2);
    expect(stderr).toBe(
      'taskq: --max-tasks works with one process, and there are 2 (flag --processes) — add --processes 1\n',
    );
    const fromEnvironment = await runTaskq(['work', '--max-tasks', '5'], {
      env: { ...env, TASKQ_PROCESSES: '3' },
    });
    expect(fromEnvironment.stderr).toContain('there are 3 (environment TASKQ_PROCESSES)');
  });
});

describe('where the first worker cannot start', () => {
  const refusals: [
    string,
    () => Promise<{ args?: string[]; env?: Record<string, string> }>,
    number,
    RegExp,
  ][] = [
    [
      'because the database cannot be reached',
      async () => ({ env: { DATABASE_URL: 'postgres://ann:secret@127.0.0.1:1/x' } }),
      1,
      /^taskq: cannot reach the database postgres:\/\/ann:\*\*\*@127\.0\.0\.1:1\/x: ECONNREFUSED[^\n]*\n$/,
    ],
    [
      'because there is no schema',
      async () => ({ env: { DATABASE_URL: (await emptyDatabase()).url } }),
      3,
      /^taskq: the database has no schema taskq — run taskq migrate\n$/,
    ],
    [
      'because a handler does not load',
      async () => {
        const handlers = await temporaryDirectory();
        await writeFile(join(handlers, 'bad.mjs'), 'export default 1;');
        return { args: ['--handlers', handlers] };
      },
      2,
      /^taskq: [^\n]*bad\.mjs: exports no handler[^\n]*\n$/,
    ],
    [
      'because an option is wrong',
      async () => ({ args: ['--lease', 'soon'] }),
      2,
      /^taskq: lease \(flag --lease\): [^\n]*\n$/,
    ],
  ];
  test.each(refusals)('%s, it says so once and exits with that code', async (_, given, code, printed) => {
    const { args = [], env } = await given();
    const end = await runTaskq(['work', '--processes', '4', '--handlers', 'test/worker/handlers', ...args], {
      env: { DATABASE_URL: queue.url, ...env },
    });
    expect(end.stderr).toMatch(printed);
    expect(end.code).toBe(code);
  });
});

describe('where a later worker cannot start', () => {
  test('it is started again, with a log line each time, as long as another one works', async () => {
    const root = await temporaryDirectory();
    const good = 'export default () => process.pid;';
    await writeFile(join(root, 'h.mjs'), good);
    const { supervisor, workers } = await supervised(2, [], root);
    await writeFile(join(root, 'h.mjs'), 'export default (');
    process.kill(workers[0]!, 'SIGKILL');
    expect(await logged(supervisor, 'worker.died', 3)).toMatchObject({ exit_code: 2, signal: null });
    const id = await queue.enqueue('h');
    await queue.hasStatus(id, 'completed');
    await writeFile(join(root, 'h.mjs'), good);
    await started(supervisor, 3);
    supervisor.kill();
    expect(await supervisor.exit).toEqual({ code: 0, signal: null });
  });

  test('and no other one works, the command ends with its code', async () => {
    const root = await temporaryDirectory();
    await writeFile(join(root, 'h.mjs'), 'export default () => 1;');
    const { supervisor, workers } = await supervised(2, [], root);
    await writeFile(join(root, 'h.mjs'), 'export default (');
    for (const pid of workers) process.kill(pid, 'SIGKILL');
    expect(await supervisor.exit).toEqual({ code: 2, signal: null });
  });
});

describe('the log of several workers', () => {
  test('comes out line by line, however long the lines are, apart from what handlers print, and each says whose it is', async () => {
    const handlers = await temporaryDirectory();
    await writeFile(
      join(handlers, 'talk.mjs'),
      `export default async (_, ctx) => {
        for (let n = 0; n < 20; n++) ctx.log.info('talk', { filler: 'x'.repeat(30_000), n });
        console.log('plain words');
      };`,
    );
    await queue.enqueueSome(20, 'talk');
    const args = ['--processes', '3', '--until-idle', '--concurrency', '2', '--lease', '30s'];
    const supervisor = queue.work(args, { handlers });
    expect(await supervisor.exit).toEqual({ code: 0, signal: null });
    const lines = supervisor.stdout().trimEnd().split('\n');
    expect(lines.filter((line) => !/^\{.*\}$/.test(line))).toEqual([]);
    expect(supervisor.stderr()).toBe('plain words\n'.repeat(20));
    const logs = supervisor.logs();
    expect(logs).toHaveLength(lines.length);
    const printed = logs.filter(({ msg }) => msg === 'talk');
    expect(printed).toHaveLength(400);
    const isWhole = ({ pid, fields }: LogLine) =>
      typeof pid === 'number' && String((fields as { filler: string }).filler).length === 30_000;
    expect(printed.every(isWhole)).toBe(true);
  });

  test('is for people on a terminal, where one Ctrl-C drains all and a second one hurries', async () => {
    const ids = await queue.enqueueSome(2, 'wait', { until: 'go' });
    const terminal = onTerminal(['work', '--processes', '2', '--concurrency', '1', '--grace', '20s']);
    for (const id of ids) await queue.saw(id, 'start');
    terminal.press('\x03');
    await terminal.shows(/(worker\.stopping[\s\S]*){2}/);
    for (const id of ids) await queue.witness(id, 'go');
    expect(await terminal.exit).toBe(0);
    expect(await queue.counts()).toEqual({ completed: 2 });
    const lines = terminal.shown().split('\r\n');
    expect(lines.filter((line) => line.includes('worker.stopped'))).toHaveLength(2);
    expect(lines.filter((line) => line.startsWith('{'))).toEqual([]);

    const [id] = await queue.enqueueSome(1, 'wait', { until: 'never' });
    const hurried = onTerminal(['work', '--processes', '2', '--grace', '60s']);
    await queue.saw(id!, 'start');
    hurried.press('\x03');
    await hurried.shows(/(worker\.stopping[\s\S]*){2}/);
    await sleep(600);
    hurried.press('\x03');
    expect(await hurried.exit).toBe(130);
    expect(await queue.task(id!)).toMatchObject({ status: 'pending', attempts: 0 });
  });
});

/** Runs the binary in the foreground of its own terminal. */
function onTerminal(args: readonly string[]) {
  // exec, because otherwise the shell would receive the Ctrl-C too.
  const command = ['exec', process.execPath, join(REPOSITORY, 'bin/taskq.js'), ...args].join(' ');
  const script = spawn('script', ['--quiet', '--return', '--command', command, '/dev/null'], {
    env: {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      DATABASE_URL: queue.url,
      WITNESS_URL: queue.url,
      TASKQ_HANDLERS: join(REPOSITORY, 'test/worker/handlers'),
      NO_COLOR: '1',
    },
    stdio: 'pipe',
  });
  let shown = '';
  script.stdout.setEncoding('utf8').on('data', (text: string) => {
    shown += text;
  });
  return {
    press: (key: string) => void script.stdin.write(key),
    shown: () => shown,
    shows: (text: RegExp) =>
      until(
        async () => text.test(shown),
        async () => `the terminal does not show ${text}:\n${shown}`,
      ),
    exit: once(script, 'exit').then(([code]) => code as number),
  };
}
