import type pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { readFunctions } from '../../../../src/queue/schema/schema-release.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { knowTypes } from '../../../support/know-types.ts';
import { seeded } from '../sequences.ts';

const ROUNDS = Number(process.env.TASKQ_ROUNDS ?? 30);
const seed = Number(process.env.TASKQ_SEED ?? Math.floor(Math.random() * 1e9));

let database: TestDatabase;
let producer: pg.Client;
let workers: readonly Worker[];

/** A session, and the tasks that it has. */
interface Worker {
  readonly client: pg.Client;
  held: Held[];
  /** Those of its transaction; null: it has none open. */
  claimed: Held[] | null;
}

interface Held {
  readonly id: string;
  readonly lease_no: number;
}

beforeAll(async () => {
  database = await createTestDatabase();
  producer = await database.client();
  await knowTypes(producer, 'race');
  workers = await Promise.all(
    [1, 2].map(async () => {
      const client = await database.client();
      // A claim that waits where it must not then fails, and does not hang.
      await client.query("set lock_timeout = '5s'");
      return { client, held: [], claimed: null };
    }),
  );
});
afterAll(() => database.drop());

it(`claims in open transactions never have more of a group than its limit together (TASKQ_SEED=${seed})`, async () => {
  const { most, beside } = await race(seeded(seed), ROUNDS);
  expect(most).toEqual([1, 2]);
  expect(beside).toBeGreaterThan(0);
});

it('and are seen to where a group is filled without its mutex', async () => {
  const { text } = (await readFunctions()).find(({ name }) => name === 'attend')!;
  const locked = 'limit 1 for no key update skip locked\n        ) as m\n        limit (select';
  expect(text).toContain(locked);
  await producer.query(text.replace(locked, locked.replace('for no key update skip locked', '')));
  expect((await race(seeded(1), 10)).most).not.toEqual([1, 2]);
  await producer.query(text);
});

/**
 * Lets two workers claim, commit, roll back and complete as chance has it, while tasks of one group are enqueued, and
 * then the rest run. Returns the most tasks that both had, with a limit of 1 and of 2, and how often one claimed while
 * the other had claimed in a transaction that was open.
 */
async function race(random: () => number, rounds: number): Promise<{ most: number[]; beside: number }> {
  const most = [0, 0];
  let beside = 0;
  for (let round = 0; round < rounds; round++) {
    const limit = 1 + (round % 2);
    const settings = { group_limit: limit, group_order: random() < 0.5 ? 'strict' : 'relaxed' };
    await producer.query("select taskq.set_queue('default', $1)", [settings]);
    let enqueued = 0;
    const ran: string[] = [];
    for (let step = 0; step < 40; step++) {
      if (random() < 0.3) {
        await producer.query(`select taskq.enqueue('race', '1', '{"group": "a"}')`);
        enqueued++;
      }
      const [me, other] = random() < 0.5 ? [workers[0]!, workers[1]!] : [workers[1]!, workers[0]!];
      if (other.claimed !== null && other.claimed.length > 0 && me.claimed === null) beside++;
      await act(me, random, ran);
      most[limit - 1] = Math.max(most[limit - 1]!, ...[workers.reduce((sum, one) => sum + countOf(one), 0)]);
    }
    for (const worker of workers) if (worker.claimed !== null) await end(worker, 'commit');
    for (let idle = 0; idle < 3; idle++) {
      for (const worker of workers) {
        while (worker.held.length > 0) {
          idle = 0;
          await complete(worker, ran);
        }
        // One that found a task locked asks again in a second.
        await producer.query('update taskq.asks set due_at = least(due_at, clock_timestamp())');
        worker.held.push(...(await claim(worker)));
      }
    }
    expect(new Set(ran).size).toBe(ran.length);
    expect(ran).toHaveLength(enqueued);
  }
  return { most, beside };
}

const countOf = ({ held, claimed }: Worker) => held.length + (claimed?.length ?? 0);

async function act(worker: Worker, random: () => number, ran: string[]): Promise<void> {
  if (worker.claimed !== null) return await end(worker, random() < 0.7 ? 'commit' : 'rollback');
  if (worker.held.length > 0 && random() < 0.5) return await complete(worker, ran);
  await worker.client.query('begin');
  worker.claimed = await claim(worker);
}

async function end(worker: Worker, how: 'commit' | 'rollback'): Promise<void> {
  await worker.client.query(how);
  if (how === 'commit') worker.held.push(...worker.claimed!);
  worker.claimed = null;
}

async function claim(worker: Worker): Promise<Held[]> {
  const { rows } = await worker.client.query<Held>(
    "select id, lease_no from taskq.claim(1, '{default}', '{race}', 5, 0, 3600000)",
  );
  return rows;
}

async function complete(worker: Worker, ran: string[]): Promise<void> {
  const task = worker.held.shift()!;
  const { rows } = await worker.client.query<{ answer: string }>('select answer from taskq.settle(1, $1)', [
    JSON.stringify([{ ...task, outcome: 'completed' }]),
  ]);
  expect(rows).toEqual([{ answer: 'recorded' }]);
  ran.push(task.id);
}
