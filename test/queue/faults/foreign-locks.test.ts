import { describe, expect, test } from 'vitest';
import { enqueue, enqueueSome, lapse, liveRow, silence } from '../rows.ts';
import { type Session, useDatabase } from '../session.ts';
import { type Claimed, LEASE_MS, outcome, type PlainWorker, registerWorker } from '../worker.ts';

const queue = useDatabase();

/** What the locks below are taken on. */
interface Locked {
  readonly worker: number;
  /** Held by that worker. */
  readonly held: string;
  readonly waiting: string;
  readonly dead: string;
}

type Lock = readonly [name: string, statement: string, values?: (on: Locked) => readonly unknown[]];

const worker = ({ worker: id }: Locked) => [id];

/** What an operator, an application or somebody with a console does in a transaction that stays open. */
const LOCKS: readonly Lock[] = [
  ['stops a worker', 'select taskq.stop_worker($1)', worker],
  ['pauses a worker', 'select taskq.pause_worker($1)', worker],
  ['resumes a worker', 'select taskq.resume_worker($1)', worker],
  ['sets a worker', `select taskq.set_worker($1, '{"concurrency": 3}')`, worker],
  ['pauses a queue', "select taskq.pause_queue('locked')"],
  ['resumes a queue', "select taskq.resume_queue('paused')"],
  ['sets a queue', `select taskq.set_queue('default', '{"timeout_ms": 5000}')`],
  ['adds types', "select from taskq.add_types('{work,fresh}')"],
  ['enqueues with a key', `select from taskq.enqueue('work', '{}', '{"key": "k"}')`],
  [
    'enqueues with a key held for a day',
    `select from taskq.enqueue('work', '{}', '{"key": "d", "key_for": "24h"}')`,
  ],
  ['cancels a held task', 'select from taskq.cancel($1)', ({ held }) => [[held]]],
  ['cancels a waiting task', 'select from taskq.cancel($1)', ({ waiting }) => [[waiting]]],
  ['revives a dead letter', 'select from taskq.revive($1)', ({ dead }) => [[dead]]],
  ['discards a dead letter', 'select from taskq.discard($1)', ({ dead }) => [[dead]]],
  ['stops operations', 'select from taskq.operations o cross join lateral taskq.stop_operation(o.id)'],
  [
    'puts a task among the dead letters',
    "select from taskq.add_dead($1, 'by hand')",
    ({ waiting }) => [waiting],
  ],
  ['edits a held task', "update taskq.tasks set tags = '{}' where id = $1", ({ held }) => [held]],
  ['edits a waiting task', "update taskq.tasks set tags = '{}' where id = $1", ({ waiting }) => [waiting]],
  ['edits a task type', "update taskq.task_types set max_attempts = 4 where name = 'work'"],
  [
    'adds a task type',
    "insert into taskq.task_types (name, first_seen_at) values ('fresh', clock_timestamp())",
  ],
  ...[
    'workers',
    'queues',
    'task_types',
    'defaults',
    'idle_marks',
    'rescue_scan',
    'housekeeping',
    'held_keys',
    'dead_tasks',
    'finished_tasks',
    'task_errors',
    'workflows',
    'workflow_steps',
    'workflow_asks',
    'operations',
    'operation_tasks',
    'release',
  ].map((table): Lock => [`locks every row of ${table}`, `select from taskq.${table} for update`]),
];

/** What the statements are tried on: tasks of their own, which nobody has locked. */
interface World {
  readonly me: PlainWorker;
  /** The one whose row is locked, too. */
  readonly locked: PlainWorker;
  readonly tasks: Claimed[];
  readonly lockedTask: Claimed;
  /** Steps that others wait for: the rows of their ends may be locked. */
  readonly steps: readonly Claimed[];
}

/** Every statement of a worker's loops, its start and its end, with what it does whatever others have locked. */
const STATEMENTS: readonly (readonly [name: string, run: (world: World) => Promise<void>])[] = [
  [
    'register_worker',
    async ({ me: { session } }) => {
      const about = { host: 'h', pid: 1, unique_part: 'x', lease_ms: LEASE_MS, concurrency: 1 };
      const types = { work: {}, fresh: { max_attempts: 2 }, other: { max_attempts: 3 } };
      const id = await session.value<number>(
        'select worker_id from taskq.register_worker($1)',
        JSON.stringify({ ...about, types }),
      );
      const row = await session.row('select types from taskq.workers where id = $1', id);
      expect(row).toEqual({ types: ['fresh', 'other', 'work'] });
      const other = "select max_attempts from taskq.task_types where name = 'other'";
      expect(await session.value(other)).toBe(3);
    },
  ],
  [
    'reload_worker',
    async ({ me, locked }) => {
      for (const { id } of [me, locked]) {
        const reload = 'select taskq.reload_worker($1, $2)';
        await me.session.rows(
          reload,
          id,
          JSON.stringify({ work: {}, fresh: {}, second: { max_attempts: 5 } }),
        );
      }
      const second = "select max_attempts from taskq.task_types where name = 'second'";
      expect(await me.session.value(second)).toBe(5);
    },
  ],
  [
    'heartbeat and get_orders',
    async ({ me, locked, tasks, lockedTask }) => {
      for (const { id } of [me, locked]) await me.session.rows('select taskq.get_orders($1)', id);
      const answers = await me.heartbeat(tasks);
      expect(answers.map(({ answer }) => answer)).toEqual(tasks.map(() => 'renewed'));
      expect(await locked.heartbeat([lockedTask])).toHaveLength(1);
    },
  ],
  [
    'mark_idle, unmark_idle and claim_context',
    async ({ me, locked }) => {
      for (const { id } of [me, locked]) {
        await me.session.rows("select from taskq.mark_idle($1, null, 1000, '{work}')", id);
        await me.session.rows('select taskq.unmark_idle($1)', id);
      }
      await me.session.rows("select taskq.claim_context('{work}')");
    },
  ],
  [
    'count_unfinished',
    async ({ me }) => void (await me.session.rows("select from taskq.count_unfinished('{work}')")),
  ],
  ['due_vacuum', async ({ me }) => void (await me.session.rows('select taskq.due_vacuum(1, 1)'))],
  [
    'claim',
    async ({ me }) => {
      const mine = await enqueueSome(me.session, 2);
      const claimed = await me.claim({ start: 1, ahead: 20 });
      expect(claimed.map(({ id }) => id)).toEqual(expect.arrayContaining(mine));
    },
  ],
  [
    'complete',
    async ({ me, tasks: [task], lockedTask }) => {
      const missed = await me.settle(outcome(task!, 'completed'), outcome(lockedTask, 'completed'));
      expect(missed.find(({ id }) => id === task!.id)).toMatchObject({ answer: 'recorded' });
    },
  ],
  [
    'settle',
    async ({ me, tasks: [, failed, dead, snoozed, cancelled] }) => {
      const answers = await me.settle(
        outcome(failed!, 'failed', { error: { message: 'no' } }),
        outcome(dead!, 'dead', { reason: 'no' }),
        outcome(snoozed!, 'snoozed', { delay_ms: 60_000 }),
        outcome(cancelled!, 'cancelled'),
      );
      expect(answers.map(({ answer }) => answer)).toEqual(answers.map(() => 'recorded'));
    },
  ],
  [
    'complete, settle and rescue of steps',
    async ({ me: { session, ...me }, tasks, steps: [completed, dead, lost] }) => {
      // What has its rows locked does not end, and holds up nothing.
      const answers = await me.settle(
        outcome(completed!, 'completed'),
        outcome(dead!, 'dead'),
        outcome(tasks[7]!, 'completed'),
      );
      for (const { id, answer } of answers)
        expect(id === tasks[7]!.id ? ['recorded'] : ['recorded', 'busy']).toContain(answer);
      await lapse(session, [lost!.id]);
      const rescued = await session.rows<{ status: string }>(
        'select status from taskq.rescue(0, 100000, $1)',
        me.id,
      );
      expect(rescued.filter(({ status }) => status !== 'dead')).toEqual([]);
      await me.claim({ queues: ['flow'] });
    },
  ],
  [
    'give_back',
    async ({ me, tasks: [, , , , , given] }) =>
      expect(await me.giveBack([given!])).toMatchObject([{ answer: 'recorded' }]),
  ],
  [
    'begin_rescue, rescue and end_rescue',
    async ({ me, tasks: [, , , , , , lost] }) => {
      const { session, id } = me;
      await lapse(session, [lost!.id]);
      await session.rows('select from taskq.begin_rescue(true, 0, $1)', id);
      await session.rows('select from taskq.rescue(0, 100000, $1)', id);
      await session.rows('select taskq.end_rescue(1)');
      expect(await liveRow(session, lost!.id)).toMatchObject({ status: 'pending', losses: 1 });
    },
  ],
  [
    'expire and maintain',
    async ({ me: { session } }) => {
      const late = await enqueue(session, { expires_ms: 60_000, delay_ms: 50_000 });
      await session.rows(
        "update taskq.tasks set expires_at = clock_timestamp() - interval '1 s' where id = $1",
        late,
      );
      await session.rows('select taskq.begin_housekeeping(0)');
      await session.rows('select taskq.maintain()');
      await session.rows('select taskq.expire(1000)');
      expect(await liveRow(session, late)).toBeUndefined();
    },
  ],
  [
    'advance_operations',
    async ({ me: { session } }) => {
      const [delayed] = await enqueueSome(session, 1, { delay_ms: 60_000 });
      const filter = JSON.stringify({ ids: [delayed] });
      const id = await session.value("select id from taskq.start_operation('cancel', $1)", filter);
      await session.rows('select taskq.advance_operations(10)');
      const state = await session.value('select state from taskq.operations where id = $1', id);
      expect(state).toBe('completed');
    },
  ],
  [
    'unregister_worker',
    async ({ me, locked }) => {
      for (const { id } of [me, locked]) await me.session.rows('select taskq.unregister_worker($1)', id);
    },
  ],
];

async function prepare(): Promise<{ world: World; on: Locked }> {
  const { admin } = queue;
  const [deadId] = await enqueueSome(admin, 1);
  await admin.rows("select from taskq.add_dead($1, 'by hand')", deadId);
  await enqueue(admin, { key: 'held', key_for: '24h' });
  await admin.rows("select taskq.pause_queue('paused')");
  await admin.rows("select taskq.pause_queue('locked')");
  await admin.rows('update taskq.defaults set retention = $1', '7d');
  const session = await queue.session();
  const [me, locked] = [await registerWorker(session), await registerWorker(session)];
  await admin.rows("update taskq.queues set paused_at = null where name = 'default'");
  await enqueueSome(admin, 20);
  const [lockedTask] = await locked.claim();
  await admin.rows('select taskq.pause_worker($1)', locked.id);
  const tasks = await me.claim({ start: 10 });
  await me.heartbeat([{ ...tasks[6]!, started_ms: 0 }]);
  const flow = ['a', 'b', 'c'].map((step) => ({ step, type: 'work', queue: 'flow' }));
  const below = { step: 'd', type: 'work', queue: 'flow', after: ['a', 'b', 'c'] };
  await admin.rows('select from taskq.run_workflow($1)', { name: 'flow', steps: [...flow, below] });
  const steps = await me.claim({ queues: ['flow'], start: 3 });
  await me.heartbeat([{ ...steps[2]!, started_ms: 0 }]);
  await admin.rows('update taskq.tasks set losses = 2 where id = $1', steps[2]!.id);
  const [waiting] = await enqueueSome(admin, 1, { delay_ms: 0 });
  for (const { id } of [me, locked])
    await admin.rows("select from taskq.mark_idle($1, null, 1000, '{work}')", id);
  // Old enough for maintain to look at them, and one that a rescue writes off.
  await admin.rows(
    "update taskq.idle_marks set until = until - interval '2 hours' where worker_id = $1",
    locked.id,
  );
  const gone = await registerWorker(admin);
  await admin.rows('select taskq.unregister_worker($1)', gone.id);
  await admin.rows(
    "update taskq.workers set stopped_at = stopped_at - interval '50 days' where id = $1",
    gone.id,
  );
  await silence(admin, locked.id, LEASE_MS + 1000);
  // One that stands because of its locked letter, and one that watches what it has revived.
  await admin.rows(`select from taskq.start_operation('revive', '{"by_hand": true}')`);
  await admin.rows(`select from taskq.start_operation('revive', $1, '{"canary": 2}')`, {
    ids: [(await enqueueSome(admin, 1))[0], deadId],
  });
  await admin.rows('update taskq.operations set done = 1 where canary is not null');
  await admin.rows(
    'insert into taskq.operation_tasks select id, $1 from taskq.operations where canary is not null',
    waiting,
  );
  // What waits longer than it must is refused (55P03), except where a function says how long it may wait itself.
  await session.rows("set lock_timeout = '100ms'");
  await session.rows("set statement_timeout = '30s'");
  return {
    world: { me, locked, tasks, lockedTask: lockedTask!, steps },
    on: { worker: locked.id, held: lockedTask!.id, waiting: waiting!, dead: deadId! },
  };
}

async function hold([, statement, values = () => []]: Lock, on: Locked): Promise<Session> {
  const holder = await queue.session();
  await holder.rows('begin');
  await holder.rows(statement, ...values(on));
  return holder;
}

describe('while a transaction stays open that', () => {
  test.each(LOCKS.map((lock) => ({ what: lock[0], lock })))(
    '$what, no statement of a worker waits for it',
    async ({ lock }) => {
      const { world, on } = await prepare();
      const holder = await hold(lock, on);
      const refused: string[] = [];
      for (const [name, run] of STATEMENTS) {
        await run(world).catch((error: Error) => refused.push(`${name}: ${error.message}`));
      }
      expect(refused).toEqual([]);
      await holder.rows('commit');
    },
  );
});
