import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { PAGE_BLOCKS } from '../../src/queue/protocol/rescue.ts';
import { migrate } from '../../src/queue/schema/migrate.ts';
import { claimerOf } from '../queue/claimer.ts';
import { type Session, sessionOf } from '../queue/session.ts';
import {
  type Claimed,
  type Lease,
  outcome,
  type PlainWorker,
  registerWorker,
  workerOf,
} from '../queue/worker.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { explained, reportPlans } from './explained.ts';

/** Live tasks; history is five thirds of it at this size, five times at a million. */
const LIVE = Number(process.env.TASKQ_SCALE ?? 60_000);
const HISTORY = LIVE >= 1_000_000 ? 5 * LIVE : Math.round((LIVE * 5) / 3);
const DEAD = Math.round(LIVE / 6);

/** What was measured, printed where TASKQ_SCALE is given. */
const report: string[] = [];

let database: TestDatabase;
let admin: Session;
let worker: PlainWorker;
/** By verb, a call whose statement is looked at. Each is made at least once while the table is empty. */
let verbs: Readonly<Record<string, () => Promise<readonly unknown[]>>>;
/** The place where claims stand; a claim without one walks everything from the beginning. */
let cursor: (number | null)[] | null = null;

beforeAll(async () => {
  database = await createTestDatabase();
  await migrate({ databaseUrl: database.directUrl, with: ['queues'] });
  admin = sessionOf(await database.client());
  const session = sessionOf(await database.client());
  await reportPlans(session);
  worker = await registerWorker(session, { work: {}, rare: {} });
  verbs = verbsOf(worker, workerOf(admin, worker.id));
  // However long all this takes, its workers are alive and nothing is to be rescued.
  await admin.rows('update taskq.workers set lease_ms = 86400000');
  await disableAutovacuum();
}, 600_000);

afterAll(async () => {
  if (process.env.TASKQ_SCALE) process.stderr.write(`${report.join('\n')}\n`);
  await database.drop();
}, 600_000);

/** What it touches is read from the catalogue again by the statement that comes next, whose pages are counted here. */
async function disableAutovacuum(): Promise<void> {
  const tables = await admin.rows<{ name: string }>(
    "select oid::regclass as name from pg_class where relnamespace = 'taskq'::regnamespace and relkind = 'r'",
  );
  for (const { name } of tables) await admin.rows(`alter table ${name} set (autovacuum_enabled = false)`);
}

let key = 0;

/** By the names of the schema `queues`; a worker has looked for leases that are over just now. */
async function dequeuedBy(session: Session): Promise<{ task_id: string }[]> {
  await admin.rows('update taskq.rescue_scan set finished_at = clock_timestamp()');
  return session.rows('select task_id from queues.dequeue_next_available_task()');
}

/** What comes before the call is done in the other session, which does not report its plans. */
function verbsOf(
  { session, claim, heartbeat, settle, giveBack, id }: PlainWorker,
  before: PlainWorker,
): typeof verbs {
  const ids = (from: string) => admin.rows<{ id: string }>(from).then((rows) => rows.map((row) => row.id));
  const due = async (): Promise<Claimed[]> => {
    await enqueueDue(10);
    return before.claim({ start: 10, cursor });
  };
  const claimed = (then: (tasks: Claimed[]) => Promise<readonly unknown[]>) => async () => then(await due());
  /** The tasks that are to replace them, which have keys from now on. */
  const replaced = async (tasks: readonly Claimed[]) => {
    const keyed = await ids(`update taskq.tasks set unique_key = 'replaced ' || id
      where id in (${tasks.map((task) => task.id).join()}) returning unique_key as id`);
    return JSON.stringify(keyed.map((held) => ({ type: 'work', key: held })));
  };
  const settled = (kind: string) =>
    claimed((tasks) =>
      settle(...tasks.map((task) => outcome(task, kind, { error: {}, reason: 'r', delay_ms: 3_600_000 }))),
    );
  const twice = (first: (tasks: Lease[]) => Promise<unknown>) =>
    claimed(async (tasks) => {
      await first(tasks);
      return settle(...tasks.map((task) => outcome(task, 'completed')));
    });
  const many = (options: () => object, count: number) => async () => {
    const tasks = JSON.stringify(Array.from({ length: count }, () => ({ type: 'work', ...options() })));
    return session.rows('select * from taskq.enqueue_many($1)', tasks);
  };
  const later = { delay_ms: 604_800_000 };
  return {
    'enqueue a task': many(() => later, 1),
    'enqueue ten with new keys': many(() => ({ ...later, key: `new ${key++}` }), 10),
    'enqueue ten with held keys': many(() => ({ ...later, key: `held ${key++ % 5}`, key_for: '24h' }), 10),
    'replace ten that wait': async () => {
      const waiting = 'select unique_key as id from taskq.tasks where unique_key is not null limit 10';
      const keys = await ids(`update taskq.tasks set type = 'work', queue = 'default'
        where lease_owner is null and unique_key in (${waiting}) returning unique_key as id`);
      const tasks = JSON.stringify(keys.map((held) => ({ type: 'work', key: held })));
      return session.rows('select * from taskq.enqueue_many($1, $2)', tasks, {
        ...later,
        on_held: 'replace',
      });
    },
    'replace ten that run': async () => {
      const tasks = await replaced(await due());
      return session.rows('select * from taskq.enqueue_many($1, $2)', tasks, {
        ...later,
        on_held: 'replace',
      });
    },
    'settle ten that are replaced': claimed(async (tasks) => {
      const on_held = 'preserve';
      await admin.rows('select from taskq.enqueue_many($1, $2)', await replaced(tasks), {
        ...later,
        on_held,
      });
      return settle(...tasks.map((task, n) => outcome(task, n < 5 ? 'completed' : 'failed', { error: {} })));
    }),
    'claim ten': async () => {
      await enqueueDue(10);
      return claim({ start: 10, cursor });
    },
    'claim ten optimistically': async () => {
      await enqueueDue(10);
      return claim({ start: 10, cursor, form: 'optimistic' });
    },
    'dequeue a task': async () => {
      await admin.rows("select queues.enqueue('work', '{}')");
      return dequeuedBy(session);
    },
    'complete a dequeued task': async () => {
      await admin.rows("select queues.enqueue('work', '{}')");
      return session.rows('select queues.complete_task($1)', (await dequeuedBy(admin))[0]!.task_id);
    },
    'fail a dequeued task': async () => {
      await admin.rows("select queues.enqueue('work', '{}')");
      return session.rows("select queues.fail_task($1, 'no')", (await dequeuedBy(admin))[0]!.task_id);
    },
    'read ten events': async () => {
      const [at] = await ids('select position as id from taskq.events_after(null, 10000) offset 9999');
      return session.rows('select * from taskq.events_after($1, 10)', at ?? null);
    },
    'claim where nothing is due': () =>
      claim({ start: 10, cursor, queues: ['default', 'later'], types: ['rare'] }),
    'claim beside an open breaker': async () => {
      await admin.rows(`select taskq.set_type('rare', '{"breaker": {"failures": 1, "within_ms": 1000}}')`);
      await admin.rows("select taskq.resume_type('rare')");
      await admin.rows("insert into taskq.breaker_events (type, at, failures) values ('rare', 'epoch', 1)");
      await before.claim({ types: ['none'] });
      await enqueueDue(10);
      return claim({ start: 10, cursor, types: ['work', 'rare'] });
    },
    'heartbeat ten': claimed(async (tasks) => {
      const beat = 'select * from taskq.heartbeat($1, $2, $3, $4, $5)';
      const nos = tasks.map((task) => task.lease_no);
      return session.rows(
        beat,
        id,
        tasks.map((task) => task.id),
        nos,
        nos.map(() => 5),
        3_600_000,
      );
    }),
    'heartbeat none': () => heartbeat([]),
    'settle ten completed': settled('completed'),
    'complete ten': claimed((tasks) =>
      session.rows(
        'select * from taskq.complete($1, $2, $3)',
        id,
        tasks.map((task) => task.id),
        tasks.map((task) => task.lease_no),
      ),
    ),
    'settle ten failed': settled('failed'),
    'settle ten dead': settled('dead'),
    'settle ten snoozed': settled('snoozed'),
    'settle ten cancelled': settled('cancelled'),
    'repeat ten completed': twice((tasks) =>
      before.settle(...tasks.map((task) => outcome(task, 'completed'))),
    ),
    'settle ten lost': twice((tasks) => before.giveBack(tasks)),
    'give back ten': claimed((tasks) => giveBack(tasks)),
    'cancel ten waiting': async () =>
      session.rows(
        'select * from taskq.cancel($1)',
        await ids('select id from taskq.tasks order by id desc limit 10'),
      ),
    'cancel ten running': claimed((tasks) =>
      session.rows(
        'select * from taskq.cancel($1)',
        tasks.map((task) => task.id),
      ),
    ),
    'retry ten waiting': async () =>
      session.rows(
        'select * from taskq.retry($1)',
        await ids("select id from taskq.tasks where queue = 'later' order by id desc limit 10"),
      ),
    'retry ten dead': async () =>
      session.rows(
        'select * from taskq.retry($1)',
        await ids('select id from taskq.dead_tasks order by id limit 10'),
      ),
    'purge ten': async () =>
      session.rows(
        'select * from taskq.purge($1)',
        await ids('select id from taskq.finished_tasks order by id desc limit 10'),
      ),
    'ask for orders': () => session.rows('select taskq.get_orders($1)', id),
    'revive ten': async () =>
      session.rows(
        `select * from taskq.revive($1, '{"delay_ms": 604800000}')`,
        await ids('select id from taskq.dead_tasks order by id limit 10'),
      ),
    'revive ten whose key is held': async () => {
      await admin.rows(
        `insert into taskq.held_keys values ('default', 'revived', 0, 'infinity') on conflict do nothing`,
      );
      const keyed = await ids(
        `update taskq.dead_tasks set unique_key = 'revived'
         where id in (select id from taskq.dead_tasks order by id desc limit 10) returning id`,
      );
      return session.rows('select * from taskq.revive($1)', keyed);
    },
    'discard ten': async () =>
      session.rows(
        'select * from taskq.discard($1)',
        await ids('select id from taskq.dead_tasks order by id limit 10'),
      ),
    'count what an operation would act on': () =>
      session.rows(`select * from taskq.start_operation('revive', '{}', '{"dry_run": true}')`),
    'do a batch of an operation': async () => {
      await admin.rows('delete from taskq.operations');
      await admin.rows(
        `select from taskq.start_operation('revive', '{}', '{"rate": "10/1s", "stop_at": 20}')`,
      );
      return session.rows('select * from taskq.advance_operations()');
    },
    'put one among the dead': async () =>
      session.rows(
        "select taskq.add_dead($1, 'r')",
        (await ids('select id from taskq.tasks order by id desc limit 1'))[0],
      ),
    'show a waiting task': async () =>
      session.rows(
        'select taskq.show_task($1)',
        (await ids('select id from taskq.tasks order by id limit 1'))[0],
      ),
    'show a finished task': async () =>
      session.rows(
        'select taskq.show_task($1)',
        (await ids('select id from taskq.finished_tasks order by id limit 1'))[0],
      ),
    'show a dead task': async () =>
      session.rows(
        'select taskq.show_task($1)',
        (await ids('select id from taskq.dead_tasks order by id limit 1'))[0],
      ),
    'explain a waiting task': async () =>
      session.rows(
        'select taskq.explain($1)',
        (await ids('select id from taskq.tasks order by id limit 1'))[0],
      ),
    'explain a due task': async () => {
      await admin.rows('update taskq.workers set running = 8');
      await enqueueDue(10);
      return session.rows('select taskq.explain(max(id)) from taskq.tasks');
    },
    'explain a finished task': async () =>
      session.rows(
        'select taskq.explain($1)',
        (await ids('select id from taskq.finished_tasks order by id limit 1'))[0],
      ),
    'look up ten ends': async () =>
      session.rows(
        'select * from taskq.get_ends($1)',
        await ids('select id from taskq.finished_tasks order by id limit 10'),
      ),
    'ask for ten ends': async () =>
      session.rows('select taskq.ask_ends($1)', await ids('select id from taskq.tasks order by id limit 10')),
    'a page of held keys': () => session.rows('select * from taskq.list_keys(100)'),
    'the last page of held keys': () =>
      session.rows(`select * from taskq.list_keys(100, 'default', 'done 99990')`),
    'a page of the held keys of a queue': () =>
      session.rows(`select * from taskq.list_keys(100, null, null, '{"queue": "default"}')`),
    'the held keys of a queue that has none': () =>
      session.rows(`select * from taskq.list_keys(100, null, null, '{"queue": "a"}')`),
    'show a held key': () =>
      session.rows(
        `select * from taskq.list_keys(1, null, null, '{"queue": "default", "key": "done 40000"}')`,
      ),
    'free a held key': async () =>
      session.rows(
        `select taskq.release_key('default', $1)`,
        (await ids("select key as id from taskq.held_keys where key like 'done 5%' limit 1"))[0] ?? 'none',
      ),
    'find who holds a key': () => session.rows("select taskq.find_by_key('default', 'key 4000')"),
    'claim one by its id': async () => {
      await enqueueDue(1);
      const [last] = await ids('select id from taskq.tasks order by id desc limit 1');
      return session.rows('select * from taskq.claim_one($1, $2, 30000)', id, last);
    },
    'age a task': async () =>
      session.rows(
        'select taskq.age_task($1)',
        (await ids("select id from taskq.tasks where queue = 'later' order by id desc limit 1"))[0],
      ),
    'expire a page': () => session.rows('select taskq.expire(100)'),
    'discard old dead letters': async () => {
      await admin.rows(
        "insert into taskq.queues (name, dead_retention) values ('default', '7d') on conflict do nothing",
      );
      return session.rows('select * from taskq.discard_old(1000)');
    },
    'see to a page of history': () => session.rows('select * from taskq.place_history(100)'),
    'look which partitions history needs': () => session.rows('select * from taskq.wanted_partitions()'),
    'look which queues there are': () => session.rows('select taskq.find_queues()'),
    'mark as idle and ask for nothing': () =>
      session.rows(
        `select * from taskq.mark_idle($1, null, 1, '{work}', '{"known": ["default", "later"], "due": false}')`,
        id,
      ),
    'find what claims have passed': () =>
      session.rows(`select * from taskq.find_missed('{default,later}', '{work}', $1)`, cursor),
    'mark as idle': () => session.rows('select * from taskq.mark_idle($1, null, 1)', id),
    // What has no index to lean on is read a part at a time.
    'rescue from 500 blocks': () => session.rows('select * from taskq.rescue(0, 500)'),
    'rerun ten': async () =>
      session.rows(
        `select * from taskq.rerun($1, '{"delay_ms": 604800000}')`,
        await ids('select id from taskq.finished_tasks order by id desc limit 10'),
      ),
    'rerun a page of a hundred': async () =>
      session.rows(
        `select * from taskq.rerun($1, '{"delay_ms": 604800000}')`,
        await ids('select id from taskq.finished_tasks order by id desc limit 100'),
      ),
    'find a page of what finished': () =>
      session.rows(
        `select * from taskq.find_ids('{"status": ["completed", "cancelled"], "queue": "default"}', 100)`,
      ),
    'find what finished before anything did': () =>
      session.rows(
        `select * from taskq.find_ids('{"status": ["completed"], "before": "2000-01-01T00:00:00Z"}', 100)`,
      ),
    'find which dead letters died long ago': () =>
      session.rows(
        `select * from taskq.find_ids('{"status": ["dead"], "before": "2000-01-01T00:00:00Z"}', 100)`,
      ),
    'a page of dead letters': () =>
      session.rows(`select * from taskq.find_tasks('{"status": ["dead"]}', 100)`),
    'the last page of dead letters': () =>
      session.rows(`select * from taskq.find_tasks('{"status": ["dead"]}', 100, '946684800000000-7')`),
    'a page of a list that nothing fits': () =>
      session.rows(`select * from taskq.find_tasks('{"type": "none"}', 100)`),
  };
}

/** In a session that does not report its plans. Their times are the present ones, so they are the last of their level. */
async function enqueueDue(count: number): Promise<void> {
  const tasks = JSON.stringify(Array.from({ length: count }, () => ({ type: 'work' })));
  await admin.rows('select from taskq.enqueue_many($1)', tasks);
}

/** The tables that are too large to be read from end to end. */
async function largeTables(): Promise<string[]> {
  const rows = await admin.rows<{ name: string }>(
    `select relname as name from pg_class
     where relnamespace = 'taskq'::regnamespace and relkind = 'r' and pg_relation_size(oid) > 1000000`,
  );
  return rows.map((row) => row.name);
}

/**
 * Runs it, and again where it reads that many pages: a plan is made anew at any time, and that reads the catalogue of all
 * partitions. So it is after a vacuum of the catalogue, and as often as the other tests, which make databases on the same
 * server, send more invalidations than a session may lag behind.
 */
async function explainedBelow<T>(most: number, run: () => Promise<T>) {
  let found = await explained(worker.session, run);
  for (let more = 9; more > 0 && found.pages >= most; more--) found = await explained(worker.session, run);
  return found;
}

async function expectIndexed(verb: string, most: number): Promise<void> {
  const large = await largeTables();
  expect(large).toContain('tasks');
  // Once before, to make the plan.
  await verbs[verb]!();
  const { result, scanned, pages, ms } = await explainedBelow(most, verbs[verb]!);
  report.push(`${verb}: ${result.length} rows, ${pages} pages, ${ms.toFixed(1)} ms`);
  expect(scanned.filter((table) => large.includes(table))).toEqual([]);
  expect(pages).toBeLessThan(most);
}

/** Fills the tables directly: at full size the verbs would take minutes. */
async function fill(): Promise<void> {
  const columns =
    'available_at, not_before, created_at, queue, type, priority, payload, attempts, unique_key, expires_at, started_at';
  await admin.rows(
    `insert into taskq.tasks (${columns})
     select at, at, clock_timestamp(), case when n % 20 = 0 then 'later' else 'default' end, 'work', n % 10, jsonb_build_object('n', n),
       n % 3, case when n % 4 = 0 then 'key ' || n end, case when n % 5 = 0 then at + interval '1 day' end, null
     from generate_series(1, $1) as n, lateral (select clock_timestamp() + interval '7 days' + n * interval '1 ms' as at) as due`,
    LIVE,
  );
  await admin.rows(
    `insert into taskq.finished_tasks (id, created_at, not_before, started_at, finished_at, drop_on, kept_in, lease_no, lease_owner,
       attempts, losses, releases, status, priority, queue, type, payload, created_by)
     select nextval('taskq.tasks_id_seq'), now(), now(), now(), now(), day, case when n > $2 then day else '-infinity' end, 1, 1, 0, 0, 0, 'completed', 2, 'default', 'work', '{"n": 1}', 'me'
     from generate_series(1, $1) as n, taskq.drop_on('7d', now()) as day`,
    HISTORY,
    // These have no partition yet.
    Math.round(HISTORY / 5),
  );
  await admin.rows(
    `insert into taskq.dead_tasks (id, created_at, not_before, died_at, lease_no, attempts, losses, releases, priority, notify_done, reason, queue, type, payload, created_by)
     select nextval('taskq.tasks_id_seq'), now(), now(), now(), 1, 3, 0, 0, 2, false, 'attempts_spent', 'default', 'work', '{"n": 1}', 'me'
     from generate_series(1, $1)`,
    DEAD,
  );
  await admin.rows(
    `insert into taskq.events (xid, id, at, task_id, attempts, drop_on, kept_in, status, queue, type)
     select pg_current_xact_id(), nextval('taskq.events_id_seq'), now(), n, 0, day, '-infinity', 'completed', 'default', 'work'
     from generate_series(1, $1) as n, taskq.drop_on('7d', now()) as day`,
    LIVE,
  );
  await admin.rows(
    `insert into taskq.held_keys (queue, key, task_id, until)
     select 'default', 'done ' || n, n, clock_timestamp() + interval '12 h' from generate_series(1, $1) as n`,
    LIVE,
  );
  await admin.rows(
    `insert into taskq.audit (at, verb, role, task_ids)
     select now(), 'revive', 'me', array(select generate_series(n, n + 9)) from generate_series(1, $1) as n`,
    DEAD,
  );
  await admin.rows(
    `insert into taskq.task_errors (task_id, lease_no, attempt, outcome, failed_at, drop_on, kept_in, queue, type)
     select d.id, n, n, 'failed', now(), day, day, 'default', 'work'
     from taskq.dead_tasks d, generate_series(1, 3) as n, taskq.drop_on('30d', now()) as day`,
  );
}

/** What one call may read. A finished task may be in any of up to a hundred partitions: each costs a page or two. */
const MOST_PAGES: Readonly<Record<string, number>> = {
  'look up ten ends': 3000,
  'retry ten dead': 3000,
  // And as many partitions of errors.
  'purge ten': 5000,
  'settle ten lost': 3000,
  'enqueue a task': 200,
  'claim ten': 500,
  'claim where nothing is due': 350,
  // It looks for a probe: the dead rows before it, where a snapshot holds them.
  'claim beside an open breaker': 10_000,
  'heartbeat ten': 400,
  'heartbeat none': 30,
  'look which queues there are': 100,
  'mark as idle': 300,
  'mark as idle and ask for nothing': 100,
  // What was claimed since the fill lies there.
  'find what claims have passed': 500,
  'show a waiting task': 1500,
  'show a dead task': 1500,
  'show a finished task': 1500,
  'explain a waiting task': 100,
  // The dead rows before it, where a snapshot holds them.
  'explain a due task': 10_000,
  'explain a finished task': 1500,
  'rescue from 500 blocks': 700,
  'discard old dead letters': 50,
  // Each is read twice, first for its size, and may be in any partition.
  'a page of dead letters': 5000,
  // Up to ten thousand of them, or a hundred thousand rows.
  'count what an operation would act on': 1000,
  'do a batch of an operation': 1500,
  'the last page of dead letters': 100,
  // Each names its task, which may be in any partition.
  'a page of held keys': 8000,
  'a page of the held keys of a queue': 8000,
  'the last page of held keys': 2000,
  'the held keys of a queue that has none': 50,
  'show a held key': 200,
  'free a held key': 500,
  'rerun ten': 5000,
  'rerun a page of a hundred': 30_000,
  'find a page of what finished': 3000,
  // 20,000 rows.
  'find what finished before anything did': 5000,
  'find which dead letters died long ago': 100,
  // 20,000 rows of each of three tables.
  'a page of a list that nothing fits': 10_000,
};
const USUALLY = 2500;

const names = Object.keys(verbsOf({} as PlainWorker, {} as PlainWorker));

describe.sequential(`among ${LIVE} live and ${HISTORY} finished tasks`, () => {
  beforeAll(async () => {
    // What is planned now, for empty tables, is kept by the session and used with the full ones.
    for (const verb of names) for (let n = 0; n < 7; n++) await verbs[verb]!().catch(() => {});
    await fill();
    cursor = await cursorNow();
  }, 3_600_000);

  test.each(names)('by plans made while the tables were empty: %s', (verb) =>
    expectIndexed(verb, MOST_PAGES[verb] ?? USUALLY),
  );

  describe.sequential('by plans made for their size', () => {
    beforeAll(async () => {
      await admin.rows('analyze taskq.tasks, taskq.finished_tasks, taskq.dead_tasks, taskq.task_errors');
      await worker.session.rows('discard plans');
    }, 3_600_000);

    test.each(names)('%s', (verb) => expectIndexed(verb, MOST_PAGES[verb] ?? USUALLY));

    test('what reads a whole table takes what docs/performance.md says', async () => {
      const [live] = await admin.rows<{ blocks: number; gb: number }>(
        `select (bytes / 8192)::int as blocks, bytes / 2 ^ 30 as gb from pg_relation_size('taskq.tasks') as bytes`,
      );
      const { blocks, gb } = live!;
      const scan = async () => {
        for (let from = 0; from < blocks; from += PAGE_BLOCKS) {
          const page = 'select * from taskq.rescue($1, $2)';
          expect(await admin.rows(page, from, from + PAGE_BLOCKS)).toEqual([]);
        }
      };
      const scanMs = await timed(scan);
      const pages = Math.ceil(blocks / PAGE_BLOCKS);
      report.push(`rescue: ${scanMs} ms for ${gb.toFixed(2)} GB in ${pages} pages`);
      report.push(`stats: ${await timed(() => admin.rows('select taskq.stats(86400000)'))} ms`);
      const unfinished = "select * from taskq.count_unfinished('{work}')";
      report.push(`count what is unfinished: ${await timed(() => admin.rows(unfinished))} ms`);
    });
  });
});

describe.sequential('beside due tasks of a type that is not handled', () => {
  beforeAll(async () => {
    await admin.rows(
      "update taskq.tasks set type = 'foreign', available_at = clock_timestamp() - interval '1 h', priority = 2",
    );
    await vacuumWhole();
    await worker.session.rows('discard plans');
  }, 3_600_000);

  test('a claim does not walk what the one before has passed, and neither does the look at when the next is due', async () => {
    const queues = ['default', 'later'];
    const claimer = claimerOf(worker.session, worker, { queues, types: ['rare'], costMs: 1000 });
    await claimer.sweep();
    for (let n = 0; n < 7; n++) await claimer.claim(10);
    const run = await explainedBelow(200, () => claimer.claim(10));
    expect(run.result).toEqual([]);
    expect(run.scanned).toEqual([]);
    expect(run.pages).toBeLessThan(200);
  });

  test('which of them is due next is not looked for beyond the first few', async () => {
    await admin.rows("update taskq.tasks set available_at = clock_timestamp() + interval '1 h'");
    const mark = () =>
      worker.session.rows<{ due_ms: number }>(
        `select due_ms from taskq.mark_idle($1, '{default,later}', 1, '{rare}')`,
        worker.id,
      );
    for (let n = 0; n < 7; n++) await mark();
    const { result, pages } = await explainedBelow(300, mark);
    expect(result[0]!.due_ms).toBeGreaterThan(3_000_000);
    expect(pages).toBeLessThan(300);
  });
});

describe.sequential('on a table just drained, its dead rows held by an open snapshot', () => {
  let holder: Session;

  beforeAll(async () => {
    // Room on each page for what is updated below: else a row's versions lie on two pages, and a walk over the dead ones
    // reads both again for each row.
    await vacuumWhole();
    holder = sessionOf(await database.client());
    await holder.rows('begin isolation level repeatable read');
    await holder.rows('select from taskq.defaults');
    // Made due, so that the dead rows lie where claims look.
    await admin.rows(
      "update taskq.tasks set available_at = clock_timestamp() - interval '1 h', queue = 'default', priority = 2",
    );
    await admin.rows('delete from taskq.tasks');
    await admin.rows('vacuum analyze taskq.tasks');
    const believed = await admin.value<number>(
      "select reltuples::int from pg_class where oid = 'taskq.tasks'::regclass",
    );
    expect(believed).toBeLessThan(10);
    await worker.session.rows('discard plans');
    cursor = await cursorNow();
  }, 3_600_000);

  afterAll(() => holder.rows('rollback'));

  const bounded = names.filter((name) => !/queues there are|as idle$|claims have passed/.test(name));

  test.each(bounded)('%s', (verb) => expectIndexed(verb, MOST_PAGES[verb] ?? 1000));

  // As a vacuum that could remove nothing leaves it: walking an index as a whole seems to cost less than ten rows by
  // their place.
  describe.sequential('and one row is what the planner believes in', () => {
    beforeAll(async () => {
      await admin.rows("update pg_class set reltuples = 1 where oid = 'taskq.tasks'::regclass");
      await worker.session.rows('discard plans');
      // What the verbs before have left due is behind it.
      cursor = await cursorNow();
    });

    test.each(bounded)('%s', (verb) => expectIndexed(verb, MOST_PAGES[verb] ?? 1000));
  });
});

/** Vacuums until no dead row is left: any transaction of this database, such as an autoanalyze, may keep some for a while. */
async function vacuumWhole(): Promise<void> {
  const dead = "select n_dead_tup::integer from pg_stat_all_tables where relid = 'taskq.tasks'::regclass";
  do await admin.rows('vacuum analyze taskq.tasks');
  while ((await admin.value<number>(dead)) > 0);
}

/** Milliseconds, the second time. */
async function timed(run: () => Promise<unknown>): Promise<number> {
  await run();
  const began = performance.now();
  await run();
  return Math.round(performance.now() - began);
}

/** Level 2 of both queues stands at the present, as after a claim that has just been made. */
async function cursorNow(): Promise<(number | null)[]> {
  const now = Number(await admin.value('select (extract(epoch from clock_timestamp()) * 1000000)::bigint'));
  return Array.from({ length: 44 }, (_, n) => (n % 2 === 0 ? now : 0));
}
