import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { insertOddRows } from '../queue/odd-rows.ts';
import { sessionOf } from '../queue/session.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { event, eventsOf, until, useWorkers } from './support/workers.ts';

const queue = useWorkers();

async function handlers(): Promise<string> {
  const directory = await temporaryDirectory();
  await writeFile(join(directory, 'succeed.mjs'), 'export default () => true;');
  await writeFile(join(directory, 'fail.mjs'), "export default () => { throw new Error('no'); };");
  return directory;
}

/** What is due, and of which nothing has been seen. */
const UNTRIED =
  'select * from taskq.tasks where attempts = 0 and available_at <= clock_timestamp() order by id limit 5';

test('whatever a row says, a worker works: each ends or is tried, and the tasks beside them complete', async () => {
  const session = sessionOf(await queue.session());
  const neighbours = await queue.enqueueSome(50, 'succeed');
  const odd = await insertOddRows(session, ['succeed', 'fail']);
  const more = await queue.enqueueSome(50, 'succeed');
  const worker = queue.work(['--concurrency', '20'], { handlers: await handlers() });
  await until(
    async () => (await queue.rows(UNTRIED)).length === 0,
    async () => JSON.stringify(await queue.rows(UNTRIED)),
  );
  const completed =
    "select count(*)::int from taskq.finished_tasks where status = 'completed' and id = any ($1)";
  expect(await queue.value(completed, [...neighbours, ...more])).toBe(100);

  // It is not stuck, and has refused nothing: one that comes now completes as well.
  const late = await queue.enqueue('succeed');
  await queue.hasStatus(late, 'completed');
  expect(eventsOf(worker, 'statement.failed')).toEqual([]);
  expect(eventsOf(worker, 'outcome.refused')).toEqual([]);

  // Of those that could not wait each is named.
  const dead = await queue.rows<{ id: string }>(
    "select id from taskq.dead_tasks where reason = 'outcome_not_stored' order by id",
  );
  const named = eventsOf(worker, 'outcome.not_stored').map((line) => line.task_id);
  expect(named.toSorted()).toEqual(dead.map(({ id }) => id).toSorted());
  const columns = odd.filter(({ id }) => named.includes(id)).map(({ column }) => column);
  expect(new Set(columns)).toEqual(new Set(['backoff']));
  worker.kill('SIGTERM');
  expect(await worker.exit).toMatchObject({ code: 0 });
}, 60_000);

test('one of which an application lets nothing be recorded is let go, and the tasks beside it complete', async () => {
  await queue.rows(`create function forbid() returns trigger language plpgsql as $$
    begin
      raise exception 'not this one' using errcode = 'check_violation', constraint = 'theirs';
    end
  $$`);
  await queue.rows(
    `create trigger forbid before delete on taskq.tasks
     for each row when (old.priority = 0) execute function forbid()`,
  );
  const [bad] = await queue.enqueueSome(1, 'succeed', {}, { priority: 0 });
  await queue.enqueueSome(20, 'succeed');
  const worker = queue.work([], { handlers: await handlers() });
  expect(await worker.waitForLog(event('outcome.refused'))).toMatchObject({ task_id: bad });
  await until(
    async () => (await queue.value('select count(*)::int from taskq.tasks')) === 1,
    async () => JSON.stringify(await queue.rows('select * from taskq.tasks')),
  );
  expect(await queue.task(bad!)).toMatchObject({ lease_no: 1 });
  worker.kill('SIGTERM');
  expect(await worker.exit).toMatchObject({ code: 0 });
}, 60_000);
