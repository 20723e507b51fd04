import { describe, expect, onTestFinished, test } from 'vitest';
import { maintain } from '../../src/queue/protocol/maintain.ts';
import { enqueue, enqueueSome, finishedRow, liveRow, type Row, refuseTask } from './rows.ts';
import { useDatabase } from './session.ts';
import { registerWorker } from './worker.ts';

const queue = useDatabase();

test('with nothing to do it says so', async () => {
  // The template may be of yesterday.
  await queue.admin.rows('select taskq.ensure_partitions()');
  expect(await maintain(queue.admin)).toEqual({
    counts: {
      partitions_made: 0,
      partitions_dropped: 0,
      rows_placed: 0,
      rows_dropped: 0,
      expired: 0,
      dead_discarded: 0,
    },
    more: false,
    detached: [],
    refused: [],
    failed: [],
  });
});

test('it ends what expired', async () => {
  await enqueue(queue.admin, { expires_ms: 1000 });
  await queue.admin.rows('update taskq.tasks set expires_at = created_at');
  expect(await maintain(queue.admin)).toMatchObject({ counts: { expired: 1 } });
});

test('a task that a trigger keeps from expiring is named, and all others expire', async () => {
  const ids = await enqueueSome(queue.admin, 3, { expires_ms: 1000 });
  await queue.admin.rows('update taskq.tasks set expires_at = created_at');
  await refuseTask(queue.admin, 'finished_tasks', ids[1]!);
  expect(await maintain(queue.admin)).toMatchObject({
    counts: { expired: 2 },
    refused: [{ id: Number(ids[1]), error: 'not allowed by the application' }],
  });
  expect(await liveRow(queue.admin, ids[1]!)).toMatchObject({ status: 'pending' });
  expect(await finishedRow(queue.admin, ids[2]!)).toMatchObject({ status: 'expired' });
});

test('dead letters are kept forever unless their queue or the defaults say how long', async () => {
  for (const name of ['default', 'short', 'ever']) {
    const ids = await enqueueSome(queue.admin, 2, { queue: name });
    await queue.admin.rows("select taskq.move_to_dead($1, '{r,r}', clock_timestamp())", ids);
    await queue.admin.rows(
      "update taskq.dead_tasks set died_at = died_at - interval '49 h' where id = $1",
      ids[0],
    );
  }
  const left = () =>
    queue.admin.rows<Row>('select queue, count(*)::int from taskq.dead_tasks group by 1 order by 1');
  expect(await maintain(queue.admin)).toMatchObject({ counts: { dead_discarded: 0 } });
  await queue.admin.rows(
    "insert into taskq.queues (name, dead_retention) values ('short', '2d'), ('ever', 'ever')",
  );
  expect(await maintain(queue.admin)).toMatchObject({ counts: { dead_discarded: 1 } });
  expect(await left()).toEqual([
    { queue: 'default', count: 2 },
    { queue: 'ever', count: 2 },
    { queue: 'short', count: 1 },
  ]);
  await queue.admin.rows("update taskq.defaults set dead_retention = '2d'");
  expect(await maintain(queue.admin)).toMatchObject({ counts: { dead_discarded: 1 } });
  expect(await left()).toEqual([
    { queue: 'default', count: 1 },
    { queue: 'ever', count: 2 },
    { queue: 'short', count: 1 },
  ]);
});

test('a dead letter that the application keeps is named, and those behind it are discarded', async () => {
  const ids = await enqueueSome(queue.admin, 3);
  await queue.admin.rows("select taskq.move_to_dead($1, '{r,r,r}', clock_timestamp())", ids);
  await queue.admin.rows("update taskq.dead_tasks set died_at = died_at - interval '49 h'");
  await queue.admin.rows("update taskq.defaults set dead_retention = '2d'");
  await queue.admin.rows('create table public.mentions (id bigint references taskq.dead_tasks (id))');
  onTestFinished(() => queue.admin.rows('drop table public.mentions').then(() => {}));
  await queue.admin.rows('insert into public.mentions values ($1)', ids[0]);
  expect(await maintain(queue.admin)).toMatchObject({
    counts: { dead_discarded: 2 },
    refused: [{ id: Number(ids[0]), error: expect.stringContaining('violates foreign key constraint') }],
    failed: [],
  });
  expect(await queue.admin.rows('select id from taskq.dead_tasks')).toEqual([{ id: ids[0] }]);
});

test('keys whose period is over go, the others stay', async () => {
  await enqueue(queue.admin, { key: 'over', key_for: '24h' });
  await enqueue(queue.admin, { key: 'held', key_for: '24h' });
  await queue.admin.rows("update taskq.held_keys set until = clock_timestamp() where key = 'over'");
  await maintain(queue.admin);
  expect(await queue.admin.rows('select key from taskq.held_keys')).toEqual([{ key: 'held' }]);
});

test('worker rows stay as long as history may name them, and while leases of theirs are looked for', async () => {
  const [live, recent, old, looked] = [
    await registerWorker(queue.admin),
    await registerWorker(queue.admin),
    await registerWorker(queue.admin),
    await registerWorker(queue.admin),
  ];
  const stop =
    "update taskq.workers set stopped_at = clock_timestamp() - $2 * interval '1 day', leases_until = $3 where id = $1";
  await queue.admin.rows(stop, recent.id, 39, null);
  await queue.admin.rows(stop, old.id, 41, null);
  await queue.admin.rows(stop, looked.id, 41, '2000-01-01');
  await maintain(queue.admin);
  const left = await queue.admin.rows<{ id: number }>('select id from taskq.workers');
  expect(new Set(left.map((row) => row.id))).toEqual(new Set([live.id, recent.id, looked.id]));
});

test('of two workers at once one does it and the other goes on', async () => {
  const other = await queue.session();
  await other.rows('begin');
  await other.rows('select taskq.maintain()');
  expect(await maintain(queue.admin)).toBeUndefined();
  await other.rows('commit');
});

test('it waits for no row that another transaction holds, and does the rest', async () => {
  const [old, kept] = [await registerWorker(queue.admin), await registerWorker(queue.admin)];
  const long = "clock_timestamp() - interval '41 days'";
  await queue.admin.rows(`update taskq.workers set stopped_at = ${long}`);
  await queue.admin.rows(
    `insert into taskq.idle_marks (worker_id, until) values ($1, ${long}), ($2, ${long})`,
    old.id,
    kept.id,
  );
  await enqueueSome(queue.admin, 2, { expires_ms: 1000 });
  await queue.admin.rows('update taskq.tasks set expires_at = created_at');
  const application = await queue.session();
  await application.rows('begin');
  await application.rows('select from taskq.workers where id = $1 for update', kept.id);
  await application.rows('select from taskq.idle_marks where worker_id = $1 for update', kept.id);
  await application.rows('select from taskq.tasks limit 1 for update');
  await application.rows('select from taskq.housekeeping for update');
  const sweeper = await queue.session();
  // What waits for a lock ends here.
  await sweeper.rows("alter function taskq.maintain set lock_timeout = '1ms'");
  await sweeper.rows("alter function taskq.expire set lock_timeout = '1ms'");
  expect(await maintain(sweeper)).toMatchObject({ counts: { expired: 1 } });
  const left =
    'select (select count(*)::int from taskq.workers) as workers, count(*)::int as marks from taskq.idle_marks';
  expect(await queue.admin.row(left)).toEqual({ workers: 1, marks: 1 });
  await application.rows('commit');
  await sweeper.rows("alter function taskq.maintain set lock_timeout = '1s'");
  await sweeper.rows("alter function taskq.expire set lock_timeout = '1s'");
  expect(await maintain(sweeper)).toMatchObject({ counts: { expired: 1 } });
});

describe('an edit of a waiting task by hand', () => {
  const waiting = async (options: object) => {
    const me = await registerWorker(await queue.session());
    await queue.admin.rows(`select taskq.set_queue('default', '{"group_limit": 1}')`);
    const [first, second] = [
      await enqueue(queue.admin, { group: 'ann' }),
      await enqueue(queue.admin, { group: 'ann', ...options }),
    ];
    const claimed = async (name = 'default') =>
      (await me.claim({ start: 10, queues: [name] })).map(({ id }) => id);
    expect(await claimed()).toEqual([first]);
    // What the new limit asks for.
    expect(await claimed()).toEqual([]);
    return { first, second, claimed };
  };
  const edit = (id: string, set: string) =>
    queue.admin.rows(`update taskq.tasks set ${set} where id = $1`, id);
  const asks = () => queue.admin.value<number>('select count(*)::integer from taskq.asks');

  test.each([
    ['another group', "group_key = 'bob'", 'default'],
    ['another queue', "queue = 'other'", 'other'],
    ['no group', 'group_key = null', 'default'],
  ])('puts it into %s, where it starts after the next housekeeping', async (_, set, name) => {
    const { second, claimed } = await waiting({});
    await edit(second, set);
    expect(await claimed(name)).toEqual([]);
    expect(await maintain(queue.admin)).toMatchObject({ failed: [] });
    expect(await claimed(name)).toEqual([second]);
  });

  test('takes it out of its group, and it keeps its time', async () => {
    const { second, claimed } = await waiting({ delay_ms: 3_600_000 });
    await edit(second, 'group_key = null');
    await maintain(queue.admin);
    expect(await claimed()).toEqual([]);
    await queue.admin.rows('select taskq.age_task($1)', second);
    expect(await claimed()).toEqual([second]);
  });

  test('of a delayed one puts it where it starts at its time, though no worker claims where it was', async () => {
    const { second, claimed } = await waiting({ delay_ms: 3_600_000 });
    await edit(second, "queue = 'other', group_key = 'bob'");
    await queue.admin.rows('select taskq.age_task($1)', second);
    expect(await claimed('other')).toEqual([]);
    expect(await maintain(queue.admin)).toMatchObject({ failed: [] });
    expect(await claimed('other')).toEqual([second]);
  });

  test('of a delayed one is found behind as many asks as housekeeping looks at in a run', async () => {
    const { second, claimed } = await waiting({ delay_ms: 3_600_000 });
    await edit(second, "queue = 'other'");
    await queue.admin.rows('select taskq.age_task($1)', second);
    await queue.admin.rows(
      `insert into taskq.asks (due_at, queue, key)
       select '2020-01-01', q.name, 'ann' from unnest('{a,default}'::text[]) as q (name), generate_series(1, 500)`,
    );
    await maintain(queue.admin);
    expect(await claimed('other')).toEqual([]);
    await maintain(queue.admin);
    expect(await claimed('other')).toEqual([second]);
  });

  test('of a task with a slot lets the group that it left go on', async () => {
    const { first, second, claimed } = await waiting({});
    await edit(first, "group_key = 'bob'");
    expect(await claimed()).toEqual([]);
    await maintain(queue.admin);
    expect(await claimed()).toEqual([second]);
  });

  test('makes housekeeping ask for no group that is full, stopped, empty or has asked', async () => {
    await waiting({});
    await enqueue(queue.admin, { group: 'paused' });
    await queue.admin.rows("select taskq.pause_group('default', 'paused')");
    await queue.admin.rows('delete from taskq.asks');
    await enqueue(queue.admin, { group: 'asked' });
    await enqueue(queue.admin, { group: 'later', delay_ms: 3_600_000 });
    const before = await asks();
    await maintain(queue.admin);
    expect(await asks()).toBe(before);
  });
});

test('it looks at a thousand groups, and next time at those after them', async () => {
  const tasks = Array.from({ length: 1500 }, (_, n) => ({ type: 'work', group: `${n}`, queue: `${n % 2}` }));
  await queue.admin.rows('select from taskq.enqueue_many($1)', JSON.stringify(tasks));
  const asked = [];
  for (let n = 0; n < 3; n++) {
    await queue.admin.rows('delete from taskq.asks');
    await maintain(queue.admin);
    asked.push(await queue.admin.value('select count(*)::integer from taskq.asks'));
  }
  expect(asked).toEqual([1000, 500, 1000]);
});
