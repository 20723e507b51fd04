import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createProject, type Project } from './project.ts';

describe('taskq types', () => {
  let project: Project;

  beforeAll(async () => {
    project = await createProject();
  });
  afterAll(() => project.drop());

  test('without one it says where they come from', async () => {
    expect(await project.run(['types'])).toMatchObject({
      code: 0,
      stdout: '',
      stderr: 'no types: a worker registers those it has handlers for\n',
    });
  });

  test('add: a task of the type is no longer refused', async () => {
    expect(await project.run(['enqueue', 'report'])).toMatchObject({ code: 2 });
    expect(await project.run(['types', 'add', 'report', 'invoice'])).toMatchObject({
      code: 0,
      stdout: 'invoice added\nreport added\n',
    });
    expect(await project.run(['enqueue', 'report'])).toMatchObject({ code: 0 });
    expect(await project.run(['types', 'add', 'report'])).toMatchObject({
      code: 0,
      stdout: 'report is known already\n',
    });
  });

  test("list: the handler's settings, its live workers, pending tasks, and when it was last seen", async () => {
    await project.write(
      'handlers/timed.mjs',
      "export default { timeout: '90s', maxAttempts: 'unlimited', retention: '2d', backoff: { kind: 'fixed', base: '10m' }, run() {} };",
    );
    await project.run(['work', '--until-idle', '--poll', '50ms']);
    await project.client.query(
      `select taskq.register_worker('{"host": "far", "pid": 7, "unique_part": "ab", "concurrency": 1, "lease_ms": 600000, "types": {"double": {}}}')`,
    );
    await project.json(['types', 'set', 'double', '--queue', 'bulk', '--priority', '2']);
    const { stdout } = await project.run(['types', 'list']);
    const [head, ...rows] = stdout.trimEnd().split('\n');
    expect(head).toMatch(
      /^TYPE +WAITING +HANDLED BY +ATTEMPTS +TIMEOUT +EXPIRES +BACK-OFF +BREAKER +FAILURE +LOG +THEN +QUEUE +PRIORITY +RETENTION +FIRST SEEN +LAST SEEN$/,
    );
    expect(rows).toEqual([
      expect.stringMatching(/^double +0 +far:7:ab +- +- +- +- +- +- +- +- +bulk +2 +- +.* now$/),
      expect.stringMatching(/^invoice +0 +no worker .* never$/),
      expect.stringMatching(/^report +1 +no worker .* never$/),
      expect.stringMatching(/^send-email /),
      expect.stringMatching(/^timed +0 +no worker +unlimited +1m30s +- +fixed 10m +- +- +- +- +- +- +2d /),
    ]);
  });

  test('set: a type that nothing knew becomes known, and stderr says so with the nearest names', async () => {
    expect(await project.run(['types', 'set', 'reprot', '--timeout', '3s'])).toMatchObject({
      code: 0,
      stderr: 'type "reprot" is new (did you mean "report"?); taskq types remove reprot forgets it\n',
    });
    expect((await project.run(['types', 'set', 'reprot', '--timeout', '4s'])).stderr).toBe('');
    expect(await project.run(['types', 'remove', 'reprot', 'reprt'])).toMatchObject({
      code: 1,
      stdout: 'reprot removed\n',
      stderr: 'taskq: reprt is not known (did you mean "report"?)\n',
    });
    await project.write('handlers/unseen.mjs', 'export default () => {};');
    expect((await project.run(['types', 'set', 'unseen', '--timeout', '3s'])).stderr).toBe('');
    await project.run(['types', 'remove', 'unseen']);
  });

  test('add: says which known name is near', async () => {
    expect(await project.run(['types', 'add', 'invoise', 'sundry'])).toMatchObject({
      code: 0,
      stderr: 'type "invoise" is new (did you mean "invoice"?); taskq types remove invoise forgets it\n',
    });
    await project.run(['types', 'remove', 'invoise', 'sundry']);
  });

  test('a name that no handler could have is refused, exit 2', async () => {
    expect(await project.run(['types', 'add', 'fine', '../x'])).toMatchObject({
      code: 2,
      stderr: 'taskq: type "../x": . and .. are not allowed\n',
    });
    expect((await project.json(['types'])).types.map(({ name }: { name: string }) => name)).not.toContain(
      'fine',
    );
  });

  test('set, list, resume: the breaker, and since when it is open', async () => {
    const set = ['types', 'set', 'double', '--breaker', '2/1m'];
    expect((await project.run([...set, '--probe-after', 'none'])).stdout).toMatch(
      /^breaker +2\/1m, no probe +an operator$/m,
    );
    expect((await project.run(set)).stdout).toMatch(/^breaker +2\/1m, probe after 30s +an operator$/m);
    const row = async () =>
      (await project.run(['types'])).stdout.split('\n').find((line) => line.startsWith('double'))!;
    expect(await row()).toContain('2/1m, probe after 30s');
    expect(await project.run(['types', 'resume', 'double'])).toMatchObject({
      code: 0,
      stdout: 'the breaker of double is not open\n',
    });
    await project.client.query('select taskq.enqueue_many($1)', [
      JSON.stringify(Array.from({ length: 100 }, () => ({ type: 'double', payload: { n: -1 } }))),
    ]);
    const work = ['work', '--until-idle', '--poll', '50ms', '--concurrency', '1', '--batch', '1', '--quiet'];
    await project.run(work);
    const { stdout } = await project.run(['show', '--json', String(await lastId())]);
    expect(JSON.parse(stdout)).toMatchObject({ attempts: 0, status: 'pending' });
    expect(await row()).toMatch(/open since (?:now|\S+ ago), probe in \S+/);
    expect((await project.run(['explain', String(await lastId())])).stdout).toMatch(
      /^ {2}breaker_open +the breaker of double is open since .*; a task may try it at /m,
    );
    expect((await project.run(['stats'])).stdout).toContain(
      'the breaker of double is open: see taskq types: ',
    );
    expect((await project.run(['types', 'resume', 'double', '--by', 'ann'])).stdout).toBe(
      'double is resumed\n',
    );
    expect(await row()).toContain('2/1m, probe after 30s');
    await project.run(['types', 'set', 'double', '--breaker', 'default']);
    expect(await row()).not.toContain('2/1m');
  });

  test('set: what follows a completion or a death, which is never the type itself', async () => {
    await project.run(['types', 'add', 'parse', 'tidy', 'alert']);
    const set = (...args: string[]) => project.run(['types', 'set', 'parse', ...args]);
    const row = async () =>
      (await project.run(['types'])).stdout.split('\n').find((line) => line.startsWith('parse'));
    await set('--on-complete', 'tidy', '--on-dead', 'alert');
    expect(await row()).toContain(' tidy, dead: alert ');
    const { code, stdout, stderr } = await set('--on-dead', 'parse');
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(/^taskq: .*parse.*\n$/);
    expect(await row()).toContain(' tidy, dead: alert ');
    await set('--on-complete', 'default');
    expect(await row()).toContain(' dead: alert ');
    await set('--on-dead', 'default');
    expect(await row()).not.toContain('alert');
  });

  test('set that removes the last setting of a type leaves none to print', async () => {
    await project.run(['types', 'add', 'plain']);
    await project.run(['types', 'set', 'plain', '--priority', '3']);
    expect(await project.run(['types', 'set', 'plain', '--priority', 'default'])).toMatchObject({
      stdout: '',
      stderr: 'type "plain" has no settings\n',
    });
  });

  const lastId = async () => (await project.client.query('select max(id) as id from taskq.tasks')).rows[0].id;

  test.each([
    [['--breaker', '5'], '--breaker "5": expected failures/duration such as 5/1m'],
    [['--breaker', '0/1m'], '--breaker failures 0: expected a whole number from 1 to 1000'],
    [['--breaker', '5/soon'], '--breaker within "soon": expected a duration'],
    [['--breaker', '5/0s'], '--breaker within "0s": expected more than 0'],
    [['--breaker', '5/1m', '--probe-after', 'never'], '--probe-after "never": expected a duration'],
    [['--breaker', '5/1m', '--probe-after', '0s'], '--probe-after "0s": expected more than 0'],
    [['--probe-after', '5s'], '--probe-after "5s": give it with --breaker, such as 5/1m'],
    [['--probe-after', '5s', '--priority', '1'], '--probe-after "5s": give it with --breaker, such as 5/1m'],
    [['--breaker', 'default', '--probe-after', '5s'], '--probe-after "5s": give it with --breaker'],
  ])('set %j is refused in one line, exit 2', async (args, why) => {
    const { code, stdout, stderr } = await project.run(['types', 'set', 'double', ...args]);
    expect({ code, stdout, lines: stderr.trimEnd().split('\n').length }).toEqual({
      code: 2,
      stdout: '',
      lines: 1,
    });
    expect(stderr).toContain(why);
  });
});
