import { beforeEach, expect, onTestFinished, test } from 'vitest';
import type { Queryable } from '../../src/lib/database.ts';
import { Housekeeper } from '../../src/worker/maintain/housekeeper.ts';
import { enqueue, enqueueSome, type Row } from './rows.ts';
import { useDatabase } from './session.ts';
import { registerWorker } from './worker.ts';

const queue = useDatabase();

beforeEach(async () => {
  await queue.admin.rows('select taskq.ensure_partitions()');
  await letPass();
});

/** Lets the next turn be due, however often housekeeping has failed. */
const letPass = () => queue.admin.rows("update taskq.housekeeping set begun_at = '-infinity'");

/** One of a worker: what it has asked, and the lines it has logged. */
function housekeeper(db: Queryable = queue.admin) {
  const asked: string[] = [];
  const logged: Row[] = [];
  const counting: Queryable = {
    query: (statement) => {
      asked.push(/taskq\.(\w+)/.exec(statement.text)![1]!);
      return db.query(statement);
    },
  };
  const events = {
    isDebugEnabled: true,
    write() {},
    event: (name: string, fields?: object) => void logged.push({ event: name, ...fields }),
  };
  const it = new Housekeeper({ db: counting, events, stop: new AbortController().signal });
  return { look: () => it.look(), asked, logged };
}

test('of two fleets that look at once one does it, page by page until there is no more', async () => {
  await enqueueSome(queue.admin, 1500, { expires_ms: 1000 });
  await queue.admin.rows('update taskq.tasks set expires_at = created_at');
  const workers = [
    housekeeper(await queue.session()),
    housekeeper(await queue.session()),
    housekeeper(await queue.session()),
  ];
  await Promise.all(workers.map((worker) => worker.look()));
  const expired = workers.flatMap(({ logged }) => logged.map((line) => line.expired));
  expect(expired.toSorted()).toEqual([1000, 500].toSorted());
  expect(workers.map(({ asked }) => asked.length).toSorted()).toEqual([1, 1, 3]);
});

test('keys whose period is over go in one turn, however many they are', async () => {
  await queue.admin.rows(
    `insert into taskq.held_keys (queue, key, task_id, until)
     select 'default', n::text, 1, clock_timestamp() from generate_series(1, 2500) as n`,
  );
  await housekeeper().look();
  expect(await queue.admin.value('select count(*)::int from taskq.held_keys')).toBe(0);
});

test('a statement that fails is left for the next turn, of whichever worker, and that one comes later', async () => {
  const refusing: Queryable = {
    query: (statement) =>
      statement.text.includes('taskq.maintain')
        ? Promise.reject(new Error('refused'))
        : queue.admin.query(statement),
  };
  const [failing, other] = [housekeeper(refusing), housekeeper()];
  await expect(failing.look()).rejects.toThrow('refused');
  await failing.look();
  await other.look();
  expect(failing.asked).toEqual(['begin_housekeeping', 'maintain', 'begin_housekeeping']);
  expect(other.asked).toEqual(['begin_housekeeping']);
  // More than the period later: not yet.
  await queue.admin.rows("update taskq.housekeeping set begun_at = clock_timestamp() - interval '70 s'");
  await other.look();
  expect(other.asked).toEqual(['begin_housekeeping', 'begin_housekeeping']);
});

test('a transaction that locks the row of the turn is reported once', async () => {
  const other = await queue.session();
  await other.rows('begin');
  await other.rows("set local application_name = 'left open'");
  const pid = await other.value('select pg_backend_pid()');
  await other.rows('select from taskq.housekeeping for update');
  const { look, asked, logged } = housekeeper();
  for (let round = 0; round < 5; round++) await look();
  expect(asked).not.toContain('maintain');
  const holder = {
    pid,
    application: 'left open',
    role: await other.value('select current_user::text'),
    since: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
  };
  expect(logged).toEqual([{ event: 'turn.held', duty: 'housekeeping', holder }]);
  await other.rows('rollback');
  await look();
  expect(asked).toContain('maintain');
});

test('a step that keeps failing stops no other step, and is reported once with its error', async () => {
  await queue.admin.rows(`create function public.refuse() returns trigger language plpgsql as
    $$ begin raise exception 'not allowed by the application'; end $$`);
  onTestFinished(() => queue.admin.rows('drop function public.refuse cascade').then(() => {}));
  const tables = ['held_keys', 'idle_marks', 'workers', 'audit'];
  const old = "clock_timestamp() - interval '100 days'";
  for (const table of tables)
    await queue.admin.rows(
      `create trigger refuse before delete on taskq.${table} for each row execute function public.refuse()`,
    );
  await enqueue(queue.admin, { key: 'over', key_for: '24h' });
  await queue.admin.rows('update taskq.held_keys set until = clock_timestamp()');
  await registerWorker(queue.admin);
  await queue.admin.rows(`update taskq.workers set stopped_at = ${old}`);
  await queue.admin.rows(`insert into taskq.idle_marks (worker_id, until) values (1, ${old})`);
  await queue.admin.rows("select taskq.set_queue('noted', '{\"timeout_ms\": 5000}')");
  await queue.admin.rows(`update taskq.audit set at = ${old}`);
  const name = await queue.admin.value<string>(
    "select partition from taskq.wanted_partitions() where parent = 'task_errors' and state = 'there' order by day desc limit 1",
  );
  await queue.admin.rows(`drop table taskq.${name}`);
  const { look, logged } = housekeeper();
  await look();
  await letPass();
  await look();
  const failed = [
    'keys whose period is over',
    'marks of idle workers',
    'workers that have ended',
    'old actions',
  ].map((what) => ({
    event: 'housekeeping.failed',
    reason: `cannot remove ${what}: not allowed by the application`,
  }));
  expect(logged).toEqual([
    expect.objectContaining({ event: 'worker.maintained', partitions_made: 1 }),
    ...failed,
  ]);
});

test('a partition that was detached by hand is named in one line, however often housekeeping comes by', async () => {
  const name = await queue.admin.value<string>(
    "select partition from taskq.wanted_partitions() where parent = 'task_errors' and state = 'there' order by day desc limit 1",
  );
  const detach = () => queue.admin.rows(`alter table taskq.task_errors detach partition taskq.${name}`);
  await detach();
  const { look, asked, logged } = housekeeper();
  for (let round = 0; round < 3; round++) {
    await look();
    await letPass();
  }
  expect(asked.filter((verb) => verb === 'maintain')).toHaveLength(3);
  const line = { event: 'partition.detached', partition: name };
  expect(logged).toEqual([line]);

  // Attached again, and detached once more: that is news.
  await queue.admin.rows(
    `alter table taskq.task_errors attach partition taskq.${name} for values in ('${name.slice(-8)}')`,
  );
  await look();
  await detach();
  await letPass();
  await look();
  expect(logged).toEqual([line, line]);
  await queue.admin.rows(`drop table taskq.${name}`);
});
