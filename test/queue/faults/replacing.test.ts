import { describe, expect, test } from 'vitest';
import { type Session, useDatabase } from '../session.ts';
import { claimOne, outcome, type PlainWorker, registerWorker } from '../worker.ts';

const CALLERS = 50;
const ROUNDS = Number(process.env.TASKQ_ROUNDS ?? 8);

const queue = useDatabase();

interface Answer {
  readonly id: string;
  readonly created: boolean;
  readonly extra: { readonly answer: string; readonly next_id?: string } | null;
}

/** What this many callers get that enqueue a task with the same key at once. */
async function callAll(callers: readonly Session[], policy: string): Promise<Answer[]> {
  return Promise.all(
    callers.map(async (caller, n) => {
      const options = { key: 'k', on_held: policy };
      const text = "select id, created, extra from taskq.enqueue('work', $1, $2)";
      return (await caller.row<Answer>(text, { n }, options))!;
    }),
  );
}

const ids = (answers: readonly Answer[]) => new Set(answers.map(({ id }) => id));

describe(`${CALLERS} callers of one key, ${ROUNDS} times with each policy`, () => {
  const POLICIES = ['ignore', 'replace', 'preserve'];
  const ROUNDS_OF_ALL = POLICIES.flatMap((policy) => Array.from({ length: ROUNDS }, () => policy));
  // A session plans what it calls: it is opened once for all rounds.
  const open = () => Promise.all(Array.from({ length: CALLERS }, () => queue.session()));

  test('one makes the task, and all get its id', async () => {
    const callers = await open();
    for (const policy of ROUNDS_OF_ALL) {
      const answers = await callAll(callers, policy);
      expect(
        answers.filter(({ created }) => created),
        policy,
      ).toHaveLength(1);
      expect(ids(answers).size, policy).toBe(1);
      const others = answers.filter(({ created }) => !created);
      expect(new Set(others.map(({ extra }) => extra?.answer)), policy).toEqual(
        new Set([policy === 'ignore' ? undefined : 'replaced']),
      );
      expect(await queue.admin.rows('select id from taskq.tasks'), policy).toEqual([{ id: answers[0]!.id }]);
      await queue.admin.rows('delete from taskq.tasks');
    }
  });

  test('while a worker has the task, one runs after it, and all get its id', async () => {
    const callers = await open();
    const worker: PlainWorker = await registerWorker(queue.admin);
    for (const policy of ROUNDS_OF_ALL) {
      const live = await queue.admin.rows('select from taskq.tasks');
      if (live.length === 0) await callAll(callers.slice(0, 1), policy);
      const task = await claimOne(worker);
      const answers = await callAll(callers, policy);
      expect(ids(answers), policy).toEqual(new Set([task.id]));
      const next = new Set(answers.map(({ extra }) => extra?.next_id));
      expect(next.size, policy).toBe(1);
      await worker.settle(outcome(task, 'completed'));
      const after = await queue.admin.rows<{ id: string }>('select id from taskq.tasks');
      expect(
        after.map(({ id }) => id),
        policy,
      ).toEqual(policy === 'ignore' ? [] : [...next]);
    }
  });
});
