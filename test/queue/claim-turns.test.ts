import { describe, expect, test } from 'vitest';
import { useDatabase } from './session.ts';
import { patiently, waitUntilBlocked } from './waiting.ts';
import { type PlainWorker, registerWorker } from './worker.ts';

const queue = useDatabase();

/** From here on a claim waits for its turn. */
const MANY = 50;

describe.each([
  ['without groups', () => ({})],
  ['with groups, which a claim attends to first', (n: number) => ({ group: `g${n}` })],
])('claims of many tasks, %s', (_, optionsOf) => {
  const enqueueSome = (count: number) =>
    queue.admin.rows(
      'select taskq.enqueue_many($1)',
      JSON.stringify(Array.from({ length: count }, (_, n) => ({ type: 'work', ...optionsOf(n) }))),
    );
  const workers = async () => [
    await registerWorker(await queue.session()),
    await registerWorker(await queue.session()),
  ];

  test('take turns, and those of fewer do not wait for them', async () => {
    await enqueueSome(3 * MANY);
    const [one, other] = (await workers()) as [PlainWorker, PlainWorker];
    const small = await registerWorker(queue.admin);
    await patiently(queue.admin, ['claim', 'await_turn'], async () => {
      await one.session.rows('begin');
      const first = await one.claim({ start: MANY });
      const waiting = other.claim({ start: MANY });
      await waitUntilBlocked(queue.admin);
      const few = await small.claim({ start: MANY - 1 });
      expect(few).not.toHaveLength(0);
      await one.session.rows('commit');
      const late = await waiting;
      expect(late).not.toHaveLength(0);
      const taken = [...first, ...late, ...few].map(({ id }) => id);
      expect(new Set(taken).size).toBe(taken.length);
    });
  });

  test('go on beside a session that keeps the turn', async () => {
    await enqueueSome(2 * MANY);
    const [one, other] = (await workers()) as [PlainWorker, PlainWorker];
    await one.session.rows('begin');
    expect(await one.claim({ start: MANY })).toHaveLength(MANY);
    expect(await other.claim({ start: MANY })).not.toHaveLength(0);
  });
});
