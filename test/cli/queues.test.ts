import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { waitUntil } from '../queue/waiting.ts';
import { createProject, type Project } from './project.ts';

describe('taskq queues', () => {
  let project: Project;

  beforeAll(async () => {
    project = await createProject();
  });
  afterAll(() => project.drop());

  test('an empty list says so', async () => {
    expect(await project.run(['queues'])).toMatchObject({
      code: 0,
      stdout: '',
      stderr: 'no queue has a live task, a dead letter, a setting or a pause\n',
    });
  });

  test('pause: a queue that only history mentions is known', async () => {
    await project.enqueueDead({ queue: 'former' });
    expect((await project.run(['queues', 'pause', 'former'])).stderr).toBe('');
    expect((await project.run(['queues', 'pause', 'formr'])).stderr).toContain('has had no tasks so far');
    for (const name of ['former', 'formr']) await project.run(['queues', 'resume', name]);
    await project.client.query('delete from taskq.dead_tasks');
  });

  test('pause and list say who paused it, why and until when, until it is resumed', async () => {
    await project.enqueue({ queue: 'mail' });
    const expected =
      /paused until \d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2} \((?:2h|1h59m)\) by \w+ \(\S+@\S+\), (?:now|\S+ ago): deploy of ann/;
    const { code, stdout } = await project.run([
      'queues',
      'pause',
      'mail',
      '--reason',
      'deploy of ann',
      '--for',
      '2h',
    ]);
    expect(code).toBe(0);
    expect(stdout).toMatch(new RegExp(`^mail is ${expected.source}\n$`));
    const listed = await project.run(['queues']);
    const [head, row] = listed.stdout.trimEnd().split('\n');
    expect(head).toMatch(
      /^QUEUE +WAITING +ATTEMPTS +TIMEOUT +EXPIRES +BACK-OFF +RETENTION +ERRORS +DEAD +LIMITS +GROUPS +ENQUEUES +FAILURE +LEASES +EVENTS +PAUSE$/,
    );
    expect(row).toMatch(/^mail +1 .* paused until \S.* by \w+ \(\S+@\S+\), .*: deploy of ann$/);
    expect(await project.run(['queues', 'resume', 'mail'])).toMatchObject({
      code: 0,
      stdout: 'mail is resumed\n',
    });
    expect(await project.run(['queues', 'resume', 'mail'])).toMatchObject({
      code: 0,
      stdout: 'mail is not paused\n',
    });
    expect((await project.run(['queues', 'list'])).stdout).not.toContain('paused');
  });

  test('pause: the queue is paused before its tasks are counted', async () => {
    const other = await project.connect();
    await other.query('begin; lock table taskq.tasks, taskq.finished_tasks in access exclusive mode');
    const answer = project.run(['queues', 'pause', 'urgent']);
    const isPaused = async () =>
      (await project.client.query("select from taskq.queues where name = 'urgent' and paused_at is not null"))
        .rowCount === 1;
    await waitUntil(isPaused, 'the queue is not paused').finally(() => other.query('commit'));
    expect(await answer).toMatchObject({ code: 0, stdout: expect.stringContaining('urgent is paused') });
    await project.run(['queues', 'resume', 'urgent']);
  });

  test('pause without an end lasts until it is resumed; a queue that had no task is named with the nearest', async () => {
    await project.enqueue({ queue: 'reports' });
    const { code, stdout, stderr } = await project.run(['queues', 'pause', 'reprots']);
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: 'queue "reprots" has had no tasks so far (did you mean "reports"?)\n',
    });
    expect(stdout).toMatch(/^reprots is paused by \w+ \(\S+\), (?:now|\S+ ago), until it is resumed\n$/);
    await project.run(['queues', 'resume', 'reprots']);
    expect((await project.json(['queues'])).queues.map(({ name }: { name: string }) => name)).not.toContain(
      'reprots',
    );
  });

  test('a queue that has had no tasks is named with the nearest by every verb that takes one', async () => {
    const said = 'queue "defalt" has had no tasks so far (did you mean "default"?)\n';
    const { rows } = await project.client.query<{ worker_id: number }>(
      `select worker_id from taskq.register_worker('{"host": "far", "pid": 7, "unique_part": "ab", "concurrency": 1, "lease_ms": 600000, "types": {}}')`,
    );
    const far = String(rows[0]!.worker_id);
    for (const args of [
      ['queues', 'resume', 'defalt'],
      ['types', 'set', 'double', '--queue', 'defalt'],
      ['workers', 'set', far, '--queues', 'default,defalt'],
      ['keys', 'list', '--queue', 'defalt'],
      ['queues', 'set', 'defalt', '--timeout', '3s'],
    ]) {
      expect({ args, stderr: (await project.run(args)).stderr }).toEqual({
        args,
        stderr: expect.stringContaining(said),
      });
    }
    expect((await project.run(['queues', 'set', 'defalt', '--timeout', 'default'])).stderr).toBe('');
    await project.run(['types', 'remove', 'double']);
    await project.client.query('delete from taskq.queues where name = $1', ['defalt']);
    await project.client.query('select taskq.unregister_worker($1)', [far]);
  });

  test('set: a setting is listed, leaves the others as they are, and is removed by "default"', async () => {
    await project.run([
      'queues',
      'set',
      'slow',
      '--max-attempts',
      'unlimited',
      '--timeout',
      '1h30m',
      '--expires',
      '30d',
    ]);
    const { stdout } = await project.run([
      ...[
        'queues',
        'set',
        'slow',
        '--retention',
        'ever',
        '--dead-retention',
        '90d',
        '--errors-retention',
        'none',
      ],
      ...['--expires', 'default', '--max-losses', 'unlimited', '--record-leases', '--record-events'],
    ]);
    expect(stdout.split('\n')[1]!.split(/ {2,}/)).toEqual([
      ...[
        'slow',
        '0',
        'unlimited',
        '1h30m',
        '-',
        '-',
        'ever',
        'none',
        '90d',
        '-',
        '-',
        '-',
        '-',
        'unlimited losses, recorded',
        'recorded',
        '-',
      ],
    ]);
    expect(await project.json(['queues', 'set', 'slow', '--max-attempts', '5'])).toMatchObject({
      name: 'slow',
      max_attempts: 5,
      timeout_ms: 5_400_000,
      expires_ms: null,
      retention: 'ever',
      errors_retention: 'none',
      dead_retention: '90d',
    });
  });

  test('set: --may-enqueue names queues, none or any', async () => {
    const set = async (queues: string) =>
      (await project.json(['queues', 'set', 'orders', '--timeout', '9s', '--may-enqueue', queues]))
        .may_enqueue;
    expect(await set('invoices,reports,invoices')).toEqual(['invoices', 'reports']);
    expect((await project.run(['queues'])).stdout).toMatch(/^orders .* invoices, reports /m);
    expect(await set('none')).toEqual([]);
    expect((await project.run(['queues'])).stdout).toMatch(/^orders .* none /m);
    expect(await set('default,')).toEqual(['default']);
    expect(await set('default')).toBeNull();
    for (const queues of [',', 'x'.repeat(201)])
      expect(await project.run(['queues', 'set', 'orders', '--may-enqueue', queues])).toMatchObject({
        code: 2,
        stdout: '',
        stderr: expect.stringMatching(/^taskq: --may-enqueue .*\n$/),
      });
  });

  test('set: --group-by type says how many waiting tasks it leaves outside', async () => {
    const outside = await project.enqueue({ queue: 'grouped' });
    await project.enqueue({ queue: 'grouped', group: 'ann' });
    const set = async (by: string) =>
      (await project.run(['queues', 'set', 'grouped', '--group-by', by])).stderr;
    const rest = 'and no limit of a type holds for them: queue grouped groups what is enqueued from now on\n';
    expect(await set('type')).toBe(`1 waiting task is in no group, ${rest}`);
    await project.enqueue({ queue: 'grouped' });
    expect(await set('none')).toBe('');
    await project.enqueue({ queue: 'grouped', delay_ms: 60_000 });
    expect(await set('type')).toBe(`2 waiting tasks are in no group, ${rest}`);
    await project.client.query('select taskq.cancel(array[$1::bigint])', [outside]);
    await project.client.query("delete from taskq.tasks where queue = 'grouped'");
    expect(await set('type')).toBe('');
    await project.client.query("delete from taskq.queues where name = 'grouped'");
  });

  test('set limits how many tasks run at once and start in a time, and the list shows it', async () => {
    const set = ['queues', 'set', 'limited', '--max-running', '4', '--rate', '100/60s', '--burst', '20'];
    expect(await project.json(set)).toMatchObject({ max_running: 4, rate: '100/1m', burst: 20 });
    expect((await project.run(['queues', 'list'])).stdout).toMatch(/^limited .* 4, 100\/1m \+ 20 /m);
    const removed = ['queues', 'set', 'limited', '--rate', 'default', '--burst', 'default'];
    expect(await project.json(removed)).toMatchObject({ max_running: 4, rate: null, burst: null });
    expect((await project.run(['queues', 'list'])).stdout).toMatch(/^limited .* 4 /m);
  });

  test.each([
    [['set', 'q'], 'nothing to set: give an option such as --retention 7d'],
    [
      ['set', 'q', '--dead-retention', 'none'],
      '--dead-retention "none": expected ever, default, or whole days such as 90d',
    ],
    [
      ['set', 'q', '--retention', '36h'],
      '--retention "36h": expected none, ever, default, or whole days such as 7d',
    ],
    [['set', 'q', '--timeout', '0s'], '--timeout "0s": expected more than 0'],
    [['set', 'q', '--max-attempts', '0'], '--max-attempts "0": expected a whole number from 1, or unlimited'],
    [
      ['set', 'q', '--expires', 'soon'],
      '--expires "soon": expected a duration such as 500ms, 30s, 1h30m, 7d or PT10M',
    ],
    [['set', 'q', '--group-limit', '0'], '--group-limit "0": expected a whole number from 1 to 2147483647'],
    [
      ['set', 'q', '--group-limit', '2147483648'],
      '--group-limit "2147483648": expected a whole number from 1 to 2147483647',
    ],
    [
      ['set', 'q', '--group-limit', 'one'],
      '--group-limit "one": expected a whole number from 1 to 2147483647',
    ],
    [
      ['set', 'q', '--group-order', 'strct'],
      '--group-order "strct": expected strict or relaxed (did you mean "strict"?)',
    ],
    [['set', 'q', '--group-on-dead', 'stop'], '--group-on-dead "stop": expected go-on or hold'],
    [['set', 'q', '--group-by', 'tenant'], '--group-by "tenant": expected type or none'],
    [['set', 'q', '--max-running', '0'], '--max-running "0": expected a whole number from 1 to 2147483647'],
    [
      ['set', 'q', '--rate', '100'],
      '--rate "100": expected n/duration such as 100/1m: n 1 to 1000000, duration 1ms to 366d',
    ],
    [['set', 'q', '--rate', '5/1m', '--burst', '0'], '--burst "0": expected a whole number from 1 to 100000'],
    [['set', 'q', '--burst', '5'], '--burst 5 needs a rate'],
    [['set', 'q', '--group-burst', '5'], '--group-burst 5 needs a rate'],
    [['pause', 'q', '--for', '0s'], '--for 0s: expected more than 0'],
    [['pause', ' q'], 'queue " q": blanks at the beginning or end are not allowed'],
  ])('taskq queues %j is refused with what was expected, exit 2', async (args, expected) => {
    expect(await project.run(['queues', ...args])).toMatchObject({
      code: 2,
      stdout: '',
      stderr: `taskq: ${expected}\n`,
    });
    expect((await project.json(['queues'])).queues.map(({ name }: { name: string }) => name)).not.toContain(
      'q',
    );
  });
});
