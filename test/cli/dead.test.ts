import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createProject, type Project } from './project.ts';

describe('taskq dead', () => {
  let project: Project;

  beforeAll(async () => {
    project = await createProject();
  });
  afterAll(() => project.drop());

  const live = async (id: string) =>
    (await project.client.query('select * from taskq.tasks where id = $1', [id])).rows[0];

  test('list: id, type, queue, attempts, reason, error, payload cut, when it died', async () => {
    const id = await project.enqueueDead({ queue: 'listed' });
    await project.client.query(`update taskq.dead_tasks set payload = $2, error = $3 where id = $1`, [
      id,
      JSON.stringify({ text: 'x'.repeat(500) }),
      JSON.stringify({ name: 'RangeError', message: 'boom\nbang' }),
    ]);
    const { stdout } = await project.run(['dead', 'list', '--queue', 'listed']);
    const [head, row, ...rest] = stdout.trimEnd().split('\n');
    expect(head!.trim().split(/ +/)).toEqual([
      'ID',
      'TYPE',
      'QUEUE',
      'ATTEMPTS',
      'REASON',
      'ERROR',
      'PAYLOAD',
      'DIED',
    ]);
    expect(row).toMatch(/ attempts_spent {2}RangeError: boom bang {2}\{"text":"x{60,80}… {2}/);
    expect(row!.length).toBeLessThan(200);
    expect(rest).toEqual([]);
    const { tasks } = await project.json([
      'dead',
      'list',
      '--reason',
      'attempts_spent',
      '--type',
      'double',
      '--since',
      '1h',
    ]);
    expect(tasks[0]).toMatchObject({
      id,
      payload: { text: 'x'.repeat(500) },
      died_at: expect.stringMatching(/^\d{4}-/),
    });
    expect((await project.json(['dead', 'list', '--reason', 'other'])).tasks).toEqual([]);
  });

  test('show: a dead letter; another task is refused with its status', async () => {
    const [dead, waiting] = [await project.enqueueDead(), await project.enqueue()];
    expect(await project.json(['dead', 'show', dead])).toMatchObject({
      id: dead,
      status: 'dead',
      errors: [],
    });
    expect(await project.run(['dead', 'show', waiting])).toMatchObject({
      code: 1,
      stderr: `taskq: task ${waiting} is not a dead letter but pending — see taskq show ${waiting}\n`,
    });
  });

  test('show: says how long it is kept, which the retention of finished tasks does not', async () => {
    const id = await project.enqueueDead({ queue: 'kept' });
    const shown = async (...command: string[]) => (await project.run([...command, id])).stdout;
    expect(await shown('show')).toMatch(/^ {2}kept +until taskq dead revive \d+ or taskq dead discard \d+$/m);
    expect(await shown('show')).not.toMatch(/^ {2}retention/m);
    await project.run(['queues', 'set', 'kept', '--dead-retention', '90d']);
    expect(await shown('dead', 'show')).toMatch(
      /^ {2}kept +until taskq dead revive \d+ or taskq dead discard \d+, at most 90d \(queue\)$/m,
    );
    const put = await project.enqueue({ queue: 'kept' });
    await project.run(['dead', 'add', put, '--reason', 'parked']);
    expect((await project.run(['show', put])).stdout).toMatch(
      /^ {2}kept +until taskq dead revive \d+ or taskq dead discard \d+$/m,
    );
  });

  test('a misspelt type of a filter is named, with the nearest known one', async () => {
    await project.run(['types', 'add', 'send-email']);
    const expected = 'type "send-emial" is not known: did you mean "send-email"?\n';
    for (const command of [['dead', 'revive'], ['list']]) {
      const { code, stderr } = await project.run([...command, '--type', 'send-emial']);
      expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining(expected) });
    }
    expect((await project.run(['list', '--type', 'send-email'])).stderr).toBe('no task matches\n');
  });

  test('revive by id: same id, attempts anew, another payload, delay and budget', async () => {
    const id = await project.enqueueDead();
    const args = ['dead', 'revive', id, '--payload', '{"n": 2.50}', '--delay', '1h', '--max-attempts', '9'];
    expect(await project.run(args)).toMatchObject({ code: 0, stdout: 'revived 1 task\n', stderr: '' });
    expect(await live(id)).toMatchObject({ attempts: 0, payload: { n: 2.5 }, max_attempts: 9 });
  });

  test('revive: a held key refuses that one by name, and not the rest', async () => {
    const options = { queue: 'keyed', key: 'k' };
    const refused = await project.enqueueDead(options);
    const other = await project.enqueueDead({ queue: 'keyed' });
    const holder = await project.enqueue(options);
    const { code, stdout, stderr } = await project.run(['dead', 'revive', '--queue', 'keyed']);
    expect({ code, stdout, stderr }).toEqual({
      code: 1,
      stdout: 'revived 1 task\n',
      stderr: `taskq: task ${refused} was not revived: task ${holder} holds its key "k"\n`,
    });
    expect(await live(other)).toBeDefined();
  });

  test('revive: one whose payload was made too large by hand is refused, and not the rest; another payload revives it', async () => {
    const large = await project.enqueueDead({ queue: 'large' });
    const other = await project.enqueueDead({ queue: 'large' });
    await project.client.query(
      "update taskq.dead_tasks set payload = to_jsonb(repeat('x', 2000000)) where id = $1",
      [large],
    );
    expect(await project.run(['dead', 'revive', '--queue', 'large'])).toMatchObject({
      code: 1,
      stdout: 'revived 1 task\n',
      stderr: `taskq: task ${large} was not revived: its payload is larger than 1 MB; give it another one\n`,
    });
    expect(await live(other)).toBeDefined();
    expect(await project.run(['dead', 'revive', large, '--payload', '{}'])).toMatchObject({ code: 0 });
  });

  test('revive: one that is not dead is named with what it is, and a waiting one with its own verb; exit 1', async () => {
    const [waiting, running, done] = [
      await project.enqueue(),
      await project.enqueue(),
      await project.enqueue(),
    ];
    await project.client.query(
      `update taskq.tasks set status = 'running', lease_owner = 1, lease_expires_at = now() + interval '1 h' where id = $1`,
      [running],
    );
    await project.run(['cancel', done]);
    expect(await project.run(['dead', 'revive', waiting, running, done, '999999'])).toMatchObject({
      code: 1,
      stdout: '',
      stderr: `taskq: task ${waiting} is waiting — retry it: taskq retry ${waiting}
taskq: task ${running} is running
taskq: task ${done} was cancelled — run it again: taskq rerun ${done}, or a step with its workflow: taskq workflow retry
taskq: no task 999999: it never existed, or was deleted by purge, discard or its retention
`,
    });
  });

  test.each([
    { queue: 'a', filter: ['--queue', 'a'] },
    { queue: 'b', filter: ['--queue', 'b', '--type', 'double', '--since', '1h'] },
    { queue: 'c', filter: ['--all', '--queue', 'c'] },
  ])('$filter neither revives nor discards dead letters added by hand', async ({ queue, filter }) => {
    const put = await project.enqueue({ queue });
    const own = await project.enqueueDead({ queue });
    expect(await project.run(['dead', 'add', put, '--reason', 'parked'])).toMatchObject({
      code: 0,
      stdout: `${put} is a dead letter: parked\n`,
    });
    await project.json(['dead', 'revive', ...filter]);
    expect(await live(own)).toBeDefined();
    expect(await live(put)).toBeUndefined();
    const other = await project.enqueueDead({ queue });
    await project.json(['dead', 'discard', ...filter, '--yes']);
    const left = (await project.json(['dead', 'list', '--queue', queue])).tasks;
    expect(left).toMatchObject([{ id: put, by_hand: true }]);
    expect(left).not.toContainEqual(expect.objectContaining({ id: other }));
    expect(await project.json(['dead', 'revive', put])).toMatchObject({ revived: 1 });
  });

  test('--by-hand lists, revives and discards only dead letters added by hand', async () => {
    const queue = ['--queue', 'parked'];
    const [first, second] = [
      await project.enqueue({ queue: 'parked' }),
      await project.enqueue({ queue: 'parked' }),
    ];
    const own = await project.enqueueDead({ queue: 'parked' });
    const park = (id: string) => project.json(['dead', 'add', id, '--reason', 'parked']);
    await park(first);
    const listed = async (...args: string[]) =>
      (await project.json(['dead', 'list', ...queue, ...args])).tasks.map(({ id }: { id: string }) => id);
    expect(await listed('--by-hand')).toEqual([first]);
    expect(await listed()).toEqual([first, own]);
    expect(await project.json(['dead', 'revive', ...queue, '--by-hand'])).toMatchObject({ revived: 1 });
    expect(await live(first)).toBeDefined();
    await park(second);
    expect(await project.json(['dead', 'discard', ...queue, '--by-hand', '--yes'])).toMatchObject({
      discarded: 1,
    });
    expect(await listed()).toEqual([own]);
  });

  test('list is ordered by time of death, and a page continues the previous one', async () => {
    const ids = [];
    for (let n = 0; n < 5; n++) ids.push(await project.enqueueDead({ queue: 'ordered' }));
    const [first, second, third, fourth, fifth] = ids as [string, string, string, string, string];
    // The oldest task died last, and two died in the same moment.
    await project.client.query(
      `update taskq.dead_tasks set died_at = '2030-01-01T00:00:00.000001Z'::timestamptz - case id::text
         when $1 then interval '1 microsecond' when $2 then interval '1 day' when $3 then interval '1 day'
         when $4 then interval '2 days' else interval '0' end
       where queue = 'ordered'`,
      [second, third, fourth, fifth],
    );
    const order = [first, second, fourth, third, fifth];
    const seen: string[] = [];
    let after: string[] = [];
    do {
      const page = await project.json(['dead', 'list', '--queue', 'ordered', '--limit', '1', ...after]);
      seen.push(...page.tasks.map(({ id }: { id: string }) => id));
      // What was revived meanwhile is no end of the list.
      if (seen.length === 2) await project.json(['dead', 'revive', second]);
      after = page.next_after === null ? [] : ['--after', page.next_after];
    } while (after.length > 0);
    expect(seen).toEqual(order);
    expect(await project.run(['dead', 'list', '--after', '7'])).toMatchObject({
      code: 2,
      stderr: 'taskq: --after "7": expected what the page before printed\n',
    });
  });

  test('revive --payload is checked by the schema of the handler, as enqueue checks', async () => {
    const { rows } = await project.client.query<{ id: string }>(
      `select id from taskq.enqueue('send-email', '{"to": "ann"}', '{"queue": "checked", "allow_unknown": true}')`,
    );
    const id = rows[0]!.id;
    await project.client.query(
      `select taskq.move_to_dead(array[$1::bigint], array['attempts_spent'], clock_timestamp())`,
      [id],
    );
    for (const which of [[id], ['--queue', 'checked']]) {
      expect(await project.run(['dead', 'revive', ...which, '--payload', '{"to":7}'])).toMatchObject({
        code: 2,
        stderr: expect.stringMatching(/^taskq: the payload does not fit send-email: .*expected text/),
      });
    }
    expect(await live(id)).toBeUndefined();
    expect(await project.json(['dead', 'revive', id, '--payload', '{"to":"bob"}'])).toMatchObject({
      revived: 1,
    });
  });

  test('discard asks with the count of matching dead letters, and what it keeps', async () => {
    for (let n = 0; n < 3; n++) await project.enqueueDead({ queue: 'asked', tags: { n: String(n % 2) } });
    const put = await project.enqueue({ queue: 'asked' });
    await project.json(['dead', 'add', put, '--reason', 'parked']);
    const asks = async (...args: string[]) => (await project.run(['dead', 'discard', ...args])).stderr;
    expect(await asks('--queue', 'asked', '--tag', 'n=0')).toBe(
      'taskq: this would permanently delete 2 dead letters, and there is no terminal to confirm it — add --yes\n',
    );
    expect(await asks('--queue', 'asked')).toBe(
      'taskq: this would permanently delete 3 dead letters (1 added by hand stays), and there is no terminal to confirm it — add --yes\n',
    );
    const waiting = await project.enqueue();
    expect(await asks(put, waiting)).toBe(
      'taskq: this would permanently delete 1 dead letter (of 2 named), and there is no terminal to confirm it — add --yes\n',
    );
  });

  test('discard with nothing to do asks for no confirmation and says why; it mentions those added by hand that it left out', async () => {
    const waiting = await project.enqueue();
    expect(await project.run(['dead', 'discard', waiting])).toMatchObject({
      code: 1,
      stdout: '',
      stderr: `taskq: task ${waiting} is waiting — cancel it: taskq cancel ${waiting}\n`,
    });
    expect(await project.run(['dead', 'discard', '--type', 'nosuch'])).toMatchObject({
      code: 0,
      stdout: 'no task matches\n',
    });
    const put = await project.enqueue({ queue: 'aside' });
    await project.json(['dead', 'add', put, '--reason', 'parked']);
    const left = '1 added by hand was left out: --by-hand\n';
    expect(await project.run(['dead', 'revive', '--queue', 'aside'])).toMatchObject({
      code: 0,
      stdout: `no task matches; ${left}`,
    });
    expect(await project.run(['dead', 'discard', '--queue', 'aside'])).toMatchObject({
      code: 0,
      stdout: `no task matches; ${left}`,
    });
    await project.client.query(
      "update taskq.dead_tasks set started_at = now() - interval '1 h' where id = $1",
      [put],
    );
    expect((await project.run(['show', put])).stdout).not.toMatch(/^ *took/m);
  });

  test('add: another reason for a dead one; a finished one is refused', async () => {
    const id = await project.enqueueDead();
    expect(await project.json(['dead', 'add', id, '--reason', 'waits for ann'])).toEqual({
      id,
      status: 'dead',
      reason: 'waits for ann',
    });
    expect(await project.run(['dead', 'add', '999999', '--reason', 'x'])).toMatchObject({
      code: 1,
      stderr: 'taskq: task 999999 has finished or does not exist\n',
    });
  });

  test('discard with --yes deletes for good', async () => {
    const id = await project.enqueueDead({ queue: 'gone' });
    expect(await project.run(['dead', 'discard', id, '--yes'])).toMatchObject({
      code: 0,
      stdout: 'discarded 1 task\n',
    });
    await project.enqueueDead({ queue: 'gone' });
    expect(await project.json(['dead', 'discard', '--queue', 'gone', '--yes'])).toMatchObject({
      discarded: 1,
    });
    const waiting = await project.enqueue();
    expect(await project.run(['dead', 'discard', id, waiting, '--yes'])).toMatchObject({
      code: 1,
      stdout: '',
      stderr: `taskq: no task ${id}: it never existed, or was deleted by purge, discard or its retention
taskq: task ${waiting} is waiting — cancel it: taskq cancel ${waiting}
`,
    });
  });
});
