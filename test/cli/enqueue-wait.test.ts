import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { killStartedTaskqs, startTaskq } from '../support/start-taskq.ts';
import { createProject, type Project } from './project.ts';

describe('taskq enqueue --wait', () => {
  let project: Project;

  beforeAll(async () => {
    project = await createProject();
  });
  afterEach(killStartedTaskqs);
  afterAll(() => project.drop());

  test('prints the result of a task that completes, exit 0; what becomes of one that dies, exit 1', async () => {
    const worker = startTaskq(['work', '--poll', '100ms'], {
      cwd: project.directory,
      env: { DATABASE_URL: project.url },
    });
    await worker.waitForLog((line) => line.event === 'worker.started');
    const completed = await project.run(['enqueue', 'double', '{"n":21}', '--wait']);
    expect(completed).toMatchObject({
      code: 0,
      stdout: '42\n',
      stderr: expect.stringMatching(/^task \d+\n$/),
    });

    expect(
      await project.json(['enqueue', 'double', '{"n":2}', '--wait', '20s', '--retention', 'none']),
    ).toMatchObject({
      created: true,
      status: 'completed',
      result: 4,
    });

    await project.run(['enqueue', 'double', '{"n":1}', '--key', 'w', '--delay', '1h']);
    const replaced = await project.run([
      ...['enqueue', 'double', '{"n":4}', '--key', 'w', '--on-held', 'replace', '--wait'],
    ]);
    expect(replaced).toMatchObject({ code: 0, stdout: '8\n' });

    // It waits for the task that runs after the one that is running now.
    const { id } = await project.json(['enqueue', 'double', '{"n":1}', '--key', 'x', '--delay', '1h']);
    await project.client.query(
      `update taskq.tasks set status = 'running', lease_owner = 77, lease_no = 5, lease_expires_at = now() + interval '1 h'
       where id = $1`,
      [id],
    );
    const after = project.json([
      ...['enqueue', 'double', '{"n":8}', '--key', 'x', '--on-held', 'replace', '--wait'],
    ]);
    const asked = 'select again is not null and notify_done as so from taskq.tasks where id = $1';
    while (!(await project.client.query(asked, [id])).rows[0].so) await sleep(20);
    await project.client.query('select taskq.complete(77, $1, $2)', [[id], [5]]);
    expect(await after).toMatchObject({ answer: 'again', status: 'completed', result: 16 });

    const dead = await project.run(['enqueue', 'double', '{"n":-1}', '--max-attempts', '1', '--wait']);
    expect(dead).toMatchObject({ code: 1, stdout: '' });
    expect(dead.stderr).toMatch(
      /^task (\d+)\ntaskq: task \1 is dead: attempts_spent \(RangeError: negative: -1\) — see taskq show \1\n$/,
    );
  });

  test.each([
    ['too large', "return 'x'.repeat(2e6)", 'larger than 262144 bytes (2000002)', /^ {2}"x{400,}…$/m],
    ['circular', 'const a = {}; a.a = a; return a', 'it is circular', /^ {2}\{"a":…$/m],
  ])('says that a result is %s, as do show and the log', async (_, body, why, head) => {
    await project.write('handlers/big.mjs', `export default () => { ${body}; };`);
    const worker = startTaskq(['work', '--types', 'big', '--poll', '100ms'], {
      cwd: project.directory,
      env: { DATABASE_URL: project.url },
    });
    const { code, stdout, stderr } = await project.run(['enqueue', 'big', '--wait', '2m']);
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'null\n' });
    const [, id] = /^task (\d+)$/m.exec(stderr)!;
    expect(stderr).toContain(`taskq: task ${id} has completed, but its result is not stored: ${why} — see`);
    const shown = (await project.run(['show', id!])).stdout;
    expect(shown).toContain(`\nresult not stored\n  ${why}\n`);
    expect(shown).toMatch(head);
    expect(shown).not.toMatch(/^result$/m);
    expect(await worker.waitForLog(({ event }) => event === 'result.not_stored')).toMatchObject({
      level: 'warn',
      task_id: id,
      type: 'big',
      reason: why.replace(/ \(.*/, ''),
      bytes: why.includes('(') ? 2_000_002 : null,
    });
  });

  test('after the deadline: exit 4, and the task keeps running', async () => {
    const { code, stdout, stderr } = await project.run([
      'enqueue',
      'double',
      '{"n":1}',
      '--wait',
      '200ms',
      '--delay',
      '1h',
    ]);
    expect({ code, stdout }).toEqual({ code: 4, stdout: '' });
    expect(stderr).toMatch(/taskq: task (\d+) has not ended in time and continues — see taskq show \1\n$/);
  });

  test('after the deadline, --json has the id of the task that goes on', async () => {
    const ofWait = ['--delay', '1h', '--wait', '200ms', '--json'];
    const { code, stderr } = await project.run(['enqueue', 'double', '{"n":1}', ...ofWait]);
    const { error } = JSON.parse(stderr.trim().split('\n').at(-1)!);
    expect({ code, error }).toMatchObject({
      code: 4,
      error: { code: 'wait_deadline', id: expect.any(String) },
    });
    expect(JSON.parse((await project.run(['show', error.id, '--json'])).stdout)).toMatchObject({
      id: error.id,
    });
  });

  test.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)('%s ends the wait with %i', async (signal, expected) => {
    const waiting = startTaskq(['enqueue', 'double', '{"n":1}', '--wait', '--delay', '1h'], {
      cwd: project.directory,
      env: { DATABASE_URL: project.url },
    });
    while (!waiting.stderr().includes('task ')) await new Promise((resolve) => setTimeout(resolve, 20));
    waiting.kill(signal);
    expect(await waiting.exit).toEqual({ code: expected, signal: null });
  });

  test('a task that is cancelled during the wait: exit 1', async () => {
    const waiting = project.run([
      'enqueue',
      'double',
      '{"n":1}',
      '--wait',
      '--delay',
      '1h',
      '--queue',
      'cancelled',
    ]);
    for (let cancelled = 0; cancelled === 0; ) {
      const { rowCount } = await project.client.query(
        `select taskq.cancel(array[id], 'no more') from taskq.tasks where queue = 'cancelled' and pg_sleep(0.05) is not null`,
      );
      cancelled = rowCount ?? 0;
    }
    expect(await waiting).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/taskq: task \d+ was cancelled: no more/),
    });
  });
});
