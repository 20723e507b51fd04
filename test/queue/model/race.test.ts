import type pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { knowTypes } from '../../support/know-types.ts';
import { seeded } from './sequences.ts';

const ROUNDS = Number(process.env.TASKQ_ROUNDS ?? 60);
const TASKS = 40;
const seed = Number(process.env.TASKQ_SEED ?? Math.floor(Math.random() * 1e9));

let database: TestDatabase;
let settler: pg.Client;
let rescuer: pg.Client;

beforeAll(async () => {
  database = await createTestDatabase();
  settler = await database.client();
  rescuer = await database.client();
  await knowTypes(settler, 'race');
});
afterAll(() => database.drop());

/** R05. The leases are over and the worker is unknown, so every task is raced for; one of the two has it. */
it(`a rescue and a completion never both have a task, in ${ROUNDS * TASKS} races (TASKQ_SEED=${seed})`, async () => {
  const random = seeded(seed);
  const won = { settled: 0, rescued: 0, busy: 0 };
  for (let round = 0; round < ROUNDS; round++) {
    await settler.query(
      `select taskq.enqueue_many((select jsonb_agg(jsonb_build_object('type', 'race')) from generate_series(1, ${TASKS})))`,
    );
    const { rows } = await settler.query<Race>(
      `select id, lease_no from taskq.claim(1, '{default}', '{race}', ${TASKS}, 0, 0)`,
    );
    const [settled, rescued] = await Promise.all([settleAll(rows, random, won), rescueAll(random)]);
    await expectOneWinner(rows, settled, rescued);
    won.settled += settled.size;
    won.rescued += rescued.size;
  }
  console.log(`settled ${won.settled}, rescued ${won.rescued}, busy for a while ${won.busy}`);
  expect(won.settled).toBeGreaterThan(0);
  expect(won.rescued).toBeGreaterThan(0);
}, 300_000);

interface Race {
  readonly id: string;
  readonly lease_no: number;
}

/** Settles in batches of any size, what was busy again. Returns the ids that are recorded. */
async function settleAll(
  races: readonly Race[],
  random: () => number,
  won: { busy: number },
): Promise<Set<string>> {
  const recorded = new Set<string>();
  const left = races.map((race) => ({ ...race, outcome: random() < 0.5 ? 'completed' : 'dead' }));
  left.sort(() => random() - 0.5);
  while (left.length > 0) {
    const batch = left.splice(0, 1 + Math.floor(random() * 8));
    const { rows } = await settler.query<Race & { answer: string }>(
      'select id, lease_no, answer from taskq.settle(1, $1)',
      [JSON.stringify(batch)],
    );
    expect(rows).toHaveLength(batch.length);
    for (const { id, answer } of rows) {
      expect(['recorded', 'lost', 'busy']).toContain(answer);
      if (answer === 'recorded') recorded.add(id);
      if (answer === 'busy') left.push(batch.find((race) => race.id === id)!);
      if (answer === 'busy') won.busy++;
    }
  }
  return recorded;
}

/** Rescues page by page, from a page of chance on. Returns the ids that are back. */
async function rescueAll(random: () => number): Promise<Set<string>> {
  const rescued = new Set<string>();
  const { rows } = await rescuer.query<{ pages: number }>(
    `select (pg_relation_size('taskq.tasks') / current_setting('block_size')::integer)::integer as pages`,
  );
  const pages = Array.from({ length: rows[0]!.pages }, (_, page) => page).sort(() => random() - 0.5);
  for (const page of pages) {
    const found = await rescuer.query<{ id: string }>('select id from taskq.rescue($1, $2)', [
      page,
      page + 1,
    ]);
    for (const { id } of found.rows) rescued.add(id);
  }
  return rescued;
}

/** Then clears the table for the next round. */
async function expectOneWinner(
  races: readonly Race[],
  settled: Set<string>,
  rescued: Set<string>,
): Promise<void> {
  expect([...settled].filter((id) => rescued.has(id))).toEqual([]);
  expect(settled.size + rescued.size).toBe(races.length);
  const { rows } = await settler.query<{ id: string; lease_no: number; live: boolean }>(
    `select id, lease_no, true as live from taskq.tasks
     union all select id, lease_no, false from taskq.finished_tasks where id >= $1
     union all select id, lease_no, false from taskq.dead_tasks where id >= $1`,
    // They come in the order of the table's pages.
    [Math.min(...races.map(({ id }) => Number(id)))],
  );
  // A rescue goes through the table page by page: deleted rows would make it longer in each round.
  await settler.query('truncate taskq.tasks');
  const seen = new Map(rows.map((row) => [row.id, `${row.live ? 'live' : 'ended'} ${row.lease_no}`]));
  for (const { id, lease_no } of races) {
    expect(seen.get(id)).toBe(settled.has(id) ? `ended ${lease_no}` : `live ${lease_no + 1}`);
  }
  expect(rows).toHaveLength(races.length);
}
