import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { killStartedTaskqs, startTaskq } from '../support/start-taskq.ts';
import { createProject, type Project } from './project.ts';

describe('taskq stats', () => {
  let project: Project;

  beforeAll(async () => {
    project = await createProject();
  });
  afterAll(() => project.drop());

  test('counts by queue and by type, and names the types without a handler', async () => {
    await project.enqueue({ queue: 'mail' });
    await project.enqueueDead({ queue: 'mail' });
    await project.enqueue({ delay_ms: 60_000 });
    const { code, stdout, stderr } = await project.run(['stats']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const lines = stdout.split('\n').map((line) => line.trim().split(/ {2,}/));
    expect(lines[0]).toEqual([
      'QUEUE',
      'PENDING',
      'RUNNING',
      'DEAD',
      'DUE',
      'OLDEST',
      'RETRYING',
      'COMPLETED',
      'CANCELLED',
      'EXPIRED',
    ]);
    expect(lines[1]!.slice(0, 5)).toEqual(['default', '1', '0', '0', '0']);
    expect(lines[2]!.slice(0, 5)).toEqual(['mail', '1', '0', '1', '1']);
    expect(lines[4]).toEqual([
      ...['TYPE', 'LIVE', 'DUE', 'DEAD', 'COMPLETED', 'CANCELLED', 'EXPIRED', 'AVERAGE', 'HANDLED'],
    ]);
    expect(lines[5]).toEqual(['double', '2', '1', '1', '0', '0', '0', '-', 'no']);
    expect(stdout).toMatch(/^1 task due, the oldest for .*; 0 completed in the last 1d; 0 workers$/m);
    expect(stdout).toMatch(/^no worker is running: 1 task due$/m);
    expect(stdout).toMatch(
      /^COMPLETED, CANCELLED, EXPIRED and AVERAGE \(run time\): of the last 1d \(--since\); - is no value$/m,
    );
  });

  test('names the limits that keep tasks waiting', async () => {
    await project.client.query(`select taskq.set_queue('most', '{"max_running": 1}')`);
    await project.enqueue({ queue: 'most' });
    await project.enqueue({ queue: 'most' });
    await project.client.query(`select from taskq.claim(1, '{most}', '{double}', 5, 0, 60000)`);
    const { stdout } = await project.run(['stats']);
    expect(stdout).toMatch(/^queue most runs as many tasks as its limit allows: 1 task due$/m);
  });
});

describe('what keeps due tasks from starting', () => {
  let project: Project;

  beforeAll(async () => {
    project = await createProject();
  });
  afterEach(killStartedTaskqs);
  afterAll(() => project.drop());

  test('is named by stats, list, show and enqueue: the queue that no worker serves, the type without a handler, a pause', async () => {
    await mkdir(join(project.directory, 'others'));
    await writeFile(join(project.directory, 'others/other.mjs'), 'export default () => {};');
    const started = [
      ['--queues', 'busy', '--concurrency', '1'],
      ['--queues', 'letters', '--handlers', 'others'],
    ].map((args) =>
      startTaskq(['work', '--paused', ...args], {
        cwd: project.directory,
        env: { DATABASE_URL: project.url },
      }),
    );
    for (const worker of started) await worker.waitForLog((line) => line.event === 'worker.started');
    const unserved = await project.run(['enqueue', 'double', '--queue', 'mail']);
    const unhandled = await project.run(['enqueue', 'parcel', '--queue', 'busy', '--allow-unknown']);
    const apart = await project.run(['enqueue', 'double', '--queue', 'letters']);
    const taken = await project.run(['enqueue', 'double', '--queue', 'busy']);
    const [{ id: busy }] = (await project.json(['workers'])).workers.filter(
      ({ queues }: { queues: string[] }) => queues.includes('busy'),
    );
    const paused = `the only worker that could take it is paused: taskq workers resume ${busy}`;
    expect([unserved, unhandled, apart, taken].map(({ stderr }) => stderr)).toEqual([
      'task 1 waits: no worker serves queue mail\n',
      'task 2 waits: no worker has a handler for parcel\n',
      'task 3 waits: no worker that serves queue letters has a handler for double\n',
      `task 4 waits: ${paused}\n`,
    ]);
    await project.run(['queues', 'pause', 'off']);
    await project.run(['enqueue', 'double', '--queue', 'off']);
    const reasons = [
      'no worker has a handler for parcel',
      'no worker serves queue mail',
      'no worker that serves queue letters has a handler for double',
      'queue off is paused',
      paused,
    ];
    expect((await project.run(['list'])).stderr.trim().split('\n').toSorted()).toEqual(
      reasons.map((reason) => `due tasks wait: ${reason}`),
    );
    expect((await project.run(['show', '1'])).stdout).toMatch(/^ {2}waits {2,}no worker serves queue mail$/m);
    expect((await project.run(['show', '4'])).stdout).toContain(paused);
    const { stdout } = await project.run(['stats']);
    expect(
      stdout
        .split('\n')
        .filter((line) => line.endsWith(': 1 task due'))
        .toSorted(),
    ).toEqual(reasons.map((reason) => `${reason}: 1 task due`));
    expect((await project.json(['stats'])).stalled).toEqual([
      { queue: 'busy', type: 'double', due: 1, reason: 'worker_paused', worker: Number(busy), group: null },
      { queue: 'busy', type: 'parcel', due: 1, reason: 'type_unhandled', worker: null, group: null },
      { queue: 'letters', type: 'double', due: 1, reason: 'pair_unserved', worker: null, group: null },
      { queue: 'mail', type: 'double', due: 1, reason: 'queue_unserved', worker: null, group: null },
      { queue: 'off', type: 'double', due: 1, reason: 'queue_paused', worker: null, group: null },
    ]);
  });

  test('is a stopped group: named by stats and list, and in what an alert looks at', async () => {
    const shop = await createProject();
    const { client } = shop;
    await client.query(`select taskq.set_queue('mail', '{"group_limit": 1, "group_on_dead": "hold"}')`);
    for (const group of ['ann', 'ann', 'bob', 'cid', 'cid']) await shop.enqueue({ queue: 'mail', group });
    await shop.run(['groups', 'pause', 'mail', 'ann', '--reason', 'moving']);
    const stats = () => shop.json(['stats']);
    const paused = {
      queue: 'mail',
      type: 'double',
      due: 2,
      reason: 'group_paused',
      worker: null,
      group: 'ann',
    };
    const none = { queue: 'mail', type: 'double', due: 2, reason: 'no_worker', worker: null, group: null };
    expect(await stats()).toMatchObject({
      due: 4,
      oldest_waiting_ms: expect.any(Number),
      stalled: [paused, none],
    });
    await shop.run(['groups', 'pause', 'mail', 'bob']);
    const text = await shop.run(['stats']);
    expect(text.stdout).toMatch(
      /^groups of queue mail are paused: see taskq groups list mail --stopped: 3 tasks due$/m,
    );
    expect((await shop.json(['groups', 'list', 'mail', '--stopped'])).groups).toMatchObject([
      { name: 'ann', slots: 0, pause_reason: 'moving' },
      { name: 'bob', slots: 0 },
    ]);
    const listed = await shop.run(['list']);
    expect(listed.stderr.trim().split('\n').toSorted()).toEqual([
      expect.stringMatching(/^due tasks wait: group ann is paused by .*: moving$/),
      expect.stringMatching(/^due tasks wait: group bob is paused by /),
      'due tasks wait: no worker is running',
    ]);
    await shop.run(['groups', 'resume', 'mail', 'ann']);
    await shop.run(['groups', 'resume', 'mail', 'bob']);
    expect((await stats()).stalled).toEqual([{ ...none, due: 3 }]);
    // One that has its slot when its group stops loses it, with the next claim.
    await client.query(`select from taskq.claim(1, '{mail}', '{nothing}', 5, 0, 60000)`);
    await shop.run(['groups', 'pause', 'mail', 'bob']);
    expect(await stats()).toMatchObject({
      due: 3,
      stalled: [
        { ...paused, due: 1, group: 'bob' },
        { ...none, due: 2 },
      ],
    });
    await shop.run(['groups', 'resume', 'mail', 'bob']);
    await shop.enqueueDead({ queue: 'mail', group: 'dan' });
    await shop.enqueue({ queue: 'mail', group: 'dan' });
    const held = { ...paused, due: 1, reason: 'group_held', group: 'dan' };
    expect((await stats()).stalled).toContainEqual(held);
    expect((await shop.run(['stats'])).stdout).toContain(
      'group dan of queue mail waits at a dead letter: see taskq groups show mail dan: 1 task due\n',
    );
    await shop.drop();
  });

  test('is not hidden by a stopped group: the missing handler, and the limit of its queue is not blamed', async () => {
    const shop = await createProject();
    await shop.client.query(`select taskq.set_queue('mail', '{"max_running": 1}')`);
    const running = startTaskq(['work', '--queues', 'other'], {
      cwd: shop.directory,
      env: { DATABASE_URL: shop.url },
    });
    await running.waitForLog((line) => line.event === 'worker.started');
    await shop.enqueue({ queue: 'mail' });
    await shop.client.query(`select from taskq.claim(1, '{mail}', '{double}', 5, 0, 60000)`);
    await shop.run(['enqueue', 'parcel', '--queue', 'mail', '--group', 'it is', '--allow-unknown']);
    await shop.run(['groups', 'pause', 'mail', 'it is']);
    const { stdout } = await shop.run(['stats']);
    expect(stdout).toContain(
      "\ngroup it is of queue mail is paused: see taskq groups show mail 'it is': 1 task due\n",
    );
    expect(stdout).toContain('\nno worker has a handler for parcel\n');
    expect(stdout).not.toContain('as its limit allows');
    await shop.drop();
  });

  test('nothing but that no worker runs: what a claim would notice counts, so a fleet scaled to zero starts', async () => {
    const shop = await createProject();
    const { client } = shop;
    const depth = async () => (await shop.json(['stats'])).depth;
    await client.query(`select taskq.add_types('{double}')`);
    await client.query('update taskq.task_types set last_seen_at = now()');
    await shop.enqueue({ queue: 'mail', group: 'ann', delay_ms: 60_000 });
    expect(await depth()).toBe(0);
    await client.query(`update taskq.tasks set not_before = now() where gate = 'd'`);
    expect(await depth()).toBe(1);
    expect((await shop.run(['list'])).stderr).toBe('due tasks wait: no worker is running\n');
    await shop.run(['groups', 'pause', 'mail', 'ann']);
    expect(await depth()).toBe(0);
    expect((await shop.json(['stats'])).stalled).toMatchObject([
      { due: 1, reason: 'group_paused', group: 'ann' },
    ]);
    await client.query('delete from taskq.tasks');
    const steps = [
      { step: 'a', type: 'double', payload: {}, delay_ms: 60_000 },
      { step: 'b', type: 'double', payload: {}, after: ['a'] },
    ];
    await client.query('select from taskq.run_workflow($1)', [JSON.stringify({ name: 'w', steps })]);
    await client.query(`select from taskq.claim(1, '{default}', '{double}', 0, 0, 60000)`);
    expect(await depth()).toBe(0);
    await client.query(`update taskq.tasks set not_before = now(), available_at = now() where step = 'a'`);
    await shop.run(['cancel', (await shop.json(['list'])).tasks.at(-1).id, '--wait', '0s']);
    // It is cancelled with its parent, by a claim.
    expect(await depth()).toBe(1);
    await shop.drop();
  });

  test('is said to whoever waits for a task while no worker runs', async () => {
    const alone = await createProject();
    const { code, stderr } = await alone.run(['enqueue', 'double', '{"n":1}', '--wait', '200ms']);
    expect(code).toBe(4);
    expect(stderr).toMatch(/^task 1\ntask 1 waits: no worker is running\n/);
    await alone.drop();
  });
});
