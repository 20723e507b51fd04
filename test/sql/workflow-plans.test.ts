import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Session, sessionOf } from '../queue/session.ts';
import { outcome, type PlainWorker, registerWorker } from '../queue/worker.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { explained, reportPlans } from './explained.ts';

/** The steps below one, which therefore has all edges: statistics call each name of a parent as frequent. */
const STEPS = 3000;

/** Of each step that is looked at: rows that are read in vain. */
const MOST_PASSED = 20;

let database: TestDatabase;
let admin: Session;
let worker: PlainWorker;
let workflow: string;

beforeAll(async () => {
  database = await createTestDatabase();
  admin = sessionOf(await database.client());
  const session = sessionOf(await database.client());
  worker = await registerWorker(session, { work: {} });
  const below = Array.from({ length: STEPS }, (_, nth) => ({ step: `${nth}`, type: 'work', after: ['a'] }));
  workflow = await admin.value<string>(
    'select id from taskq.run_workflow($1)',
    JSON.stringify({ name: 'wide', steps: [{ step: 'a', type: 'work' }, ...below] }),
  );
  await admin.rows('analyze taskq.workflow_edges, taskq.workflow_steps, taskq.tasks');
  await reportPlans(session);
}, 120_000);

afterAll(() => database.drop());

test('a cancel, a retry and an end of a step read no edges but its own, however many its workflow has', async () => {
  await worker.settle(...(await worker.claim()).map((task) => outcome(task, 'dead')));
  const cancel = await explained(worker.session, () => worker.claim());
  expect(cancel.passed / STEPS).toBeLessThan(MOST_PASSED);
  expect(await states()).toEqual({ state: 'failed', cancelled: STEPS });
  await admin.rows('analyze');

  const retry = await explained(worker.session, () =>
    worker.session.rows('select from taskq.retry_workflow($1)', workflow),
  );
  expect(retry.result).toHaveLength(STEPS + 1);
  expect(retry.passed / STEPS).toBeLessThan(MOST_PASSED);

  await worker.settle(...(await worker.claim()).map((task) => outcome(task, 'completed')));
  await worker.settle(...(await worker.claim({ start: 500 })).map((task) => outcome(task, 'completed')));
  const count = await explained(worker.session, () => worker.claim());
  expect(count.passed / 500).toBeLessThan(MOST_PASSED);
}, 120_000);

async function states() {
  const [row] = await admin.rows(
    `select w.state, (select count(*)::integer from taskq.workflow_steps s where s.status = 'cancelled') as cancelled
     from taskq.workflows w where w.id = $1`,
    workflow,
  );
  return row;
}
