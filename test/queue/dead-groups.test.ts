import { describe, expect, test } from 'vitest';
import { findIds } from '../../src/queue/inspect/find-tasks.ts';
import { type DeadGroup, listDeadGroups } from '../../src/queue/inspect/list-dead-groups.ts';
import { addDead } from '../../src/queue/operate/add-dead.ts';
import { discard } from '../../src/queue/operate/discard.ts';
import { revive } from '../../src/queue/operate/revive.ts';
import { enqueue } from './rows.ts';
import { useDatabase } from './session.ts';
import { outcome, registerWorker } from './worker.ts';

const queue = useDatabase();

const STACK = `TypeError: cannot charge
    at async Promise.all (index 3)
    at parse (node:internal/url:816:7)
    at Client.query (file:///srv/app/node_modules/pg/lib/client.js:12:3)
    at charge (file:///srv/releases/41/handlers/pay.js:10:9)
    at run (file:///srv/releases/41/lib/run.js:99:1)`;

function fingerprintOf(error: object | null, { type = 'pay', reason = 'attempts_spent' } = {}) {
  const text = 'select taskq.fingerprint($1, $2, $3)';
  return queue.admin.value<string>(text, type, reason, error && JSON.stringify(error));
}

type Pair = readonly [what: string, one: object, other: object];

const messages = (a: string, b: string): Pair => [a, { message: a }, { message: b }];

describe('a fingerprint is the same', () => {
  test.each<Pair>([
    messages('customer 17 has no card', 'customer 2041 has no card'),
    messages('no row 550e8400-e29b-41d4-a716-446655440000', 'no row 6ba7b810-9dad-11d1-80b4-00c04fd430c8'),
    messages('unknown token deadbeef', 'unknown token cafebabe'),
    messages('no customer "Ann \\"A.\\" Smith" here', 'no customer "Bob" here'),
    messages("no customer 'Ann Smith' here", "no customer 'Bob' here"),
    messages('ENOENT: no such file, open /srv/a/b.txt', 'ENOENT: no such file, open C:\\tmp\\c.txt'),
    messages('late since 2026-11-23T10:00:00.123Z', 'late since 2026-01-02T00:00:00Z'),
    messages('cannot write to ann@example.com', 'cannot write to bob@example.org'),
    messages('Key (name)=(ann smith) already exists.', 'Key (name)=(bob) already exists.'),
    messages('timed out: user=ann', 'timed out: user=bob'),
    messages('missing parts 1, 2, 3', 'missing parts 7'),
    messages('odd  text', 'odd\ntext'),
    [
      'a stack of another release and line',
      { stack: STACK },
      { stack: STACK.replaceAll('41', '42').replace('10:9', '11:2') },
    ],
    [
      'a stack below another caller',
      { stack: STACK },
      { stack: STACK.replace('lib/run.js', 'lib/other.js') },
    ],
  ])('for %s', async (_, one, other) => {
    expect(await fingerprintOf(one)).toBe(await fingerprintOf(other));
    expect(await fingerprintOf(one)).toMatch(/^[0-9a-f]{10}$/);
  });
});

describe('a fingerprint differs', () => {
  test.each<Pair>([
    messages('customer 17 has no card', 'customer 17 has no address'),
    messages("can't read the file, won't retry", "can't find the file, won't retry"),
    ['another name', { name: 'TypeError' }, { name: 'RangeError' }],
    ['another code', { code: '23505' }, { code: '23503' }],
    ['another frame', { stack: STACK }, { stack: STACK.replace('at charge', 'at refund') }],
    ['another file', { stack: STACK }, { stack: STACK.replace('pay.js', 'refund.js') }],
  ])('for %s', async (_, one, other) => {
    expect(await fingerprintOf(one)).not.toBe(await fingerprintOf(other));
  });

  test('for another type, and without an error for another reason', async () => {
    expect(await fingerprintOf({ name: 'E' })).not.toBe(
      await fingerprintOf({ name: 'E' }, { type: 'refund' }),
    );
    expect(await fingerprintOf(null)).not.toBe(await fingerprintOf(null, { reason: 'worker_lost' }));
    expect(await fingerprintOf(null, { reason: 'no card 17' })).toBe(
      await fingerprintOf(null, { reason: 'no card 4' }),
    );
  });
});

test.each([
  null,
  5,
  'text',
  [],
  {},
  { message: 5, stack: {}, name: null },
  { message: '\\', stack: '    at /' },
])('an odd error fails no death: %j', async (error) => {
  expect(await fingerprintOf(error as object)).toMatch(/^[0-9a-f]{10}$/);
});

describe('dead letters of a worker', () => {
  /** Lets a task die of each of these errors, and returns their ids. */
  async function die(errors: readonly object[]): Promise<string[]> {
    const worker = await registerWorker(queue.admin);
    const ids = await queue.admin.rows<{ id: string }>(
      `select id from taskq.enqueue_many((select jsonb_agg('{"type": "work"}'::jsonb) from generate_series(1, $1::integer)))`,
      errors.length,
    );
    const claimed = await worker.claim({ start: errors.length });
    expect(claimed).toHaveLength(errors.length);
    await worker.settle(
      ...claimed.map((task, n) => outcome(task, 'dead', { reason: 'r', error: errors[n] })),
    );
    return ids.map(({ id }) => id);
  }

  const bug = (name: string, n: number) => ({ name, message: `order ${n} of "c${n}" failed`, stack: STACK });

  test('a thousand of one bug are one group; those of three bugs three', async () => {
    await die(Array.from({ length: 1000 }, (_, n) => bug('TypeError', n)));
    const [group, ...others] = await listDeadGroups(queue.admin);
    expect(others).toEqual([]);
    expect(group).toMatchObject({
      count: 1000,
      last_hour: 1000,
      hour_before: 0,
      type: 'work',
      error_name: 'TypeError',
    });
    const more = ['RangeError', 'RangeError', 'SyntaxError'];
    const ids = await die(more.map(bug));
    const groups = await listDeadGroups(queue.admin);
    expect(groups.map(({ error_name: name, count }) => [name, count])).toEqual([
      ['TypeError', 1000],
      ['RangeError', 2],
      ['SyntaxError', 1],
    ]);
    expect(groups[2]).toMatchObject({ last_id: ids[2], message: 'order 2 of "c2" failed', reason: 'r' });
    expect(await listDeadGroups(queue.admin, { limit: 1 })).toEqual([group]);
    expect(await found(groups[1]!)).toEqual([ids[1], ids[0]].sort((a, b) => Number(b) - Number(a)));
    await revive(queue.admin, [ids[2]!]);
    await discard(queue.admin, [ids[0]!]);
    expect((await listDeadGroups(queue.admin)).map(({ count }) => count)).toEqual([1000, 1]);
  });

  async function found({ fingerprint }: Pick<DeadGroup, 'fingerprint'>): Promise<string[]> {
    const ids: string[] = [];
    for await (const page of findIds(queue.admin, { status: ['dead'], fingerprint })) ids.push(...page);
    return ids;
  }

  test('the first digits of a fingerprint find its letters; an ambiguous beginning names the candidates', async () => {
    const [a, b] = await die([bug('A', 1), bug('B', 2)]);
    const set = (id: string, fingerprint: string) =>
      queue.admin.rows('update taskq.dead_tasks set fingerprint = $2 where id = $1', id, fingerprint);
    await set(a!, 'f3a9000001');
    await set(b!, 'f3b9000002');
    expect(await found({ fingerprint: 'f3a' })).toEqual([a]);
    expect(await found({ fingerprint: 'f3a9000001' })).toEqual([a]);
    expect(await found({ fingerprint: 'aa' })).toEqual([]);
    await expect(found({ fingerprint: 'f3' })).rejects.toMatchObject({
      message: 'fingerprint "f3" is ambiguous: f3a9000001, f3b9000002',
      hint: 'give more of its digits',
    });
    await expect(found({ fingerprint: 'x%' })).rejects.toThrow(
      'fingerprint "x%": expected the first digits of a fingerprint, such as f3a9',
    );
    await expect(queue.admin.rows(`select taskq.find_ids('{"fingerprint": "f3"}')`)).rejects.toThrow(
      'filter: only dead letters have a fingerprint',
    );
  });

  test('a letter added by hand has the group of its reason', async () => {
    const ids = [await enqueue(queue.admin), await enqueue(queue.admin)];
    for (const [n, id] of ids.entries()) await addDead(queue.admin, id, `parked by ticket ${n}`);
    expect(await listDeadGroups(queue.admin)).toMatchObject([{ count: 2, error_name: null, message: null }]);
    await addDead(queue.admin, ids[0]!, 'kept for the lawyers');
    expect(await listDeadGroups(queue.admin)).toMatchObject([{ count: 1 }, { count: 1 }]);
  });
});
