import { describe, expect, onTestFinished, test } from 'vitest';
import { claimerOf } from './claimer.ts';
import { enqueue, enqueueSome, liveRow, refuseChanges } from './rows.ts';
import { useGroups } from './use-groups.ts';
import { type Claimed, outcome, type PlainWorker } from './worker.ts';

const { queue, inGroup, setQueue, worker, claimed, complete } = useGroups();

/** A task that has a slot which no worker has claimed, and one that comes first, committed since. */
async function overtaken(me: PlainWorker): Promise<{ late: string; urgent: string }> {
  await setQueue({ group_limit: 1 });
  const late = await inGroup('ann', { priority: 5 });
  await me.claim({ types: ['other'] });
  expect(await liveRow(queue.admin, late)).toMatchObject({ gate: 'h' });
  return { late, urgent: await inGroup('ann', { priority: 1 }) };
}

describe('a slot that was given before a more urgent task was committed', () => {
  test('goes to that task, even if the claim has turns for other groups only', async () => {
    const me = await worker();
    const { late, urgent } = await overtaken(me);
    await queue.admin.rows("update taskq.asks set due_at = due_at - interval '1 s'");
    await queue.admin.rows(
      "insert into taskq.asks (due_at, queue, key) values ('2020-01-01', 'default', 'bob')",
    );
    const first = await me.claim({ start: 1 });
    expect(first.map(({ id }) => id)).toEqual([urgent]);
    await complete(me, first);
    expect(await claimed(me)).toEqual([late]);
  });

  test('goes to that task, even if the cursor of the claim has passed what it asks for', async () => {
    const me = await worker();
    const { late, urgent } = await overtaken(me);
    const soon = (Date.now() + 3_600_000) * 1000;
    const cursor = [...Array.from({ length: 20 }, () => 0), soon, 0];
    const first = await me.claim({ start: 10, cursor });
    expect(first.map(({ id }) => id)).toEqual([urgent]);
    await complete(me, first);
    expect(await claimed(me)).toEqual([late]);
  });

  test('is taken back while another session attends to the group, and then goes to that task', async () => {
    const me = await worker();
    const { late, urgent } = await overtaken(me);
    const other = await queue.session();
    await other.rows('begin');
    await other.rows(
      "select from taskq.group_mutexes where place = taskq.mutex_of('default', 'ann') for no key update",
    );
    const beside = await enqueue(queue.admin);
    expect(await claimed(me)).toEqual([beside]);
    expect(await liveRow(queue.admin, late)).toMatchObject({ gate: 'w', status: 'blocked' });
    await other.rows('rollback');
    const first = await me.claim({ start: 10 });
    expect(first.map(({ id }) => id)).toEqual([urgent]);
    await complete(me, first);
    expect(await claimed(me)).toEqual([late]);
  });

  test('is taken back while another session has that task locked', async () => {
    const me = await worker();
    const { late, urgent } = await overtaken(me);
    const editor = await queue.session();
    await editor.rows('begin');
    await editor.rows("update taskq.tasks set tags = '{}' where id = $1", urgent);
    expect(await claimed(me)).toEqual([]);
    await editor.rows('commit');
    await expect.poll(() => claimed(me)).toEqual([urgent]);
    expect(await liveRow(queue.admin, late)).toMatchObject({ gate: 'w' });
  });

  test('is kept where the order is relaxed', async () => {
    const me = await worker();
    const { late } = await overtaken(me);
    await setQueue({ group_order: 'relaxed' });
    await queue.admin.rows("update taskq.asks set due_at = due_at + interval '1 hour'");
    expect(await claimed(me)).toEqual([late]);
  });
});

describe('the first task of a group, locked by another session', () => {
  async function locked(
    order: string,
  ): Promise<{ me: PlainWorker; ids: string[]; release(): Promise<unknown> }> {
    await setQueue({ group_limit: 1, group_order: order });
    const ids = [await inGroup('ann'), await inGroup('ann'), await inGroup('bob')];
    const editor = await queue.session();
    await editor.rows('begin');
    await editor.rows("update taskq.tasks set tags = '{}' where id = $1", ids[0]);
    return { me: await worker(), ids, release: () => editor.rows('commit') };
  }

  test('keeps its turn under strict order: its group waits for it, others do not', async () => {
    const { me, ids, release } = await locked('strict');
    expect(await claimed(me)).toEqual([ids[2]]);
    await release();
    await expect.poll(() => claimed(me)).toEqual([ids[0]]);
  });

  test('is passed under relaxed order', async () => {
    const { me, ids } = await locked('relaxed');
    expect(await claimed(me)).toEqual([ids[1], ids[2]]);
  });
});

test('a group that was paused before a claim began starts nothing, even if the claim has no turn for it', async () => {
  await setQueue({ group_limit: 1 });
  const id = await inGroup('ann');
  const me = await worker();
  await me.claim({ types: ['other'] });
  await queue.admin.rows("select taskq.pause_group('default', 'ann')");
  await queue.admin.rows("update taskq.asks set due_at = due_at + interval '1 hour'");
  expect(await claimed(me)).toEqual([]);
  await queue.admin.rows("select taskq.resume_group('default', 'ann')");
  expect(await claimed(me)).toEqual([id]);
});

test('a task behind a slot of a type that nobody here handles does not count as unfinished', async () => {
  await setQueue({ group_limit: 1 });
  await queue.admin.rows(
    `select id from taskq.enqueue('other', '{}', '{"group": "ann", "allow_unknown": true}')`,
  );
  await inGroup('ann');
  const me = await worker();
  expect(await claimed(me)).toEqual([]);
  const count = (types: string) =>
    queue.admin.rows(`select unfinished, left_for_later from taskq.count_unfinished('${types}')`);
  expect(await count('{work}')).toEqual([
    { unfinished: '0', left_for_later: { in_stopped_groups: 1, of_other_types: 1 } },
  ]);
  expect(await count('{work,other}')).toMatchObject([{ unfinished: '2' }]);
});

test('a group that is paused while a task stops it does not start that task when its time comes', async () => {
  await setQueue({ group_limit: 1 });
  const id = await inGroup('ann');
  const me = await worker();
  const [task] = await me.claim();
  await me.settle(outcome(task!, 'snoozed', { delay_ms: 3_600_000, hold: 'group' }));
  await queue.admin.rows("select taskq.pause_group('default', 'ann')");
  await queue.admin.rows('update taskq.tasks set available_at = clock_timestamp(), not_before = now()');
  expect(await claimed(me)).toEqual([]);
  await queue.admin.rows("select taskq.resume_group('default', 'ann')");
  expect(await claimed(me)).toEqual([id]);
});

test('of several slots given out at once, the first task starts first, however late its time was', async () => {
  await setQueue({ group_limit: 2 });
  const running = [await inGroup('ann'), await inGroup('ann')];
  const me = await worker();
  const first = await me.claim({ start: 2 });
  expect(first.map(({ id }) => id)).toEqual(running);
  const [late, early] = [await inGroup('ann'), await inGroup('ann')];
  await queue.admin.rows(
    "update taskq.tasks set not_before = not_before - interval '1 h' where id = $1",
    early,
  );
  await complete(me, first);
  expect((await me.claim({ start: 1 })).map(({ id }) => id)).toEqual([late]);
});

test('a slot that could not be taken back because its task was locked is taken back later', async () => {
  const me = await worker();
  const { urgent } = await overtaken(me);
  await queue.admin.rows("update taskq.tasks set type = 'other' where id <> $1", urgent);
  const editor = await queue.session();
  await editor.rows('begin');
  await editor.rows("select from taskq.tasks where type = 'other' for no key update");
  expect(await claimed(me)).toEqual([]);
  await editor.rows('rollback');
  await expect.poll(() => claimed(me)).toEqual([urgent]);
});

test('a task that expires with its slot, behind a backlog, makes room without housekeeping', async () => {
  await setQueue({ group_limit: 1 });
  const me = await worker();
  // What the new limit asks for.
  await me.claim();
  await enqueue(queue.admin, { priority: 0 });
  const brief = await inGroup('ann', { expires_ms: 3_600_000 });
  const next = await inGroup('ann');
  expect(await me.claim({ start: 1 })).toHaveLength(1);
  expect(await liveRow(queue.admin, brief)).toMatchObject({ gate: 'h' });
  await queue.admin.rows('update taskq.tasks set expires_at = clock_timestamp() where id = $1', brief);
  await queue.admin.rows('update taskq.asks set due_at = clock_timestamp()');
  expect(await claimed(me)).toEqual([next]);
});

test('a slot that the database does not let go wakes no worker again and again', async () => {
  const me = await worker();
  const { late } = await overtaken(me);
  await refuseChanges(queue.admin, 'create trigger', `old.id = ${late}`);
  const listener = await queue.directSession();
  const received: string[] = [];
  listener.client.on('notification', ({ channel }) => received.push(channel));
  await listener.rows('listen taskq_wake');
  expect(await claimed(me)).toEqual([]);
  expect(await claimed(me)).toEqual([]);
  await listener.rows('select');
  expect(received).toEqual([]);
});

test('a group that cannot be attended to at all is named in the log of the server', async () => {
  const me = await worker();
  const notices: (string | undefined)[] = [];
  me.session.client.on('notice', ({ message }) => notices.push(message));
  await queue.admin.rows(`create function public.refuse_asks() returns trigger language plpgsql as $$
    begin raise exception 'not allowed by the application'; end
  $$`);
  onTestFinished(() => queue.admin.rows('drop function public.refuse_asks cascade').then(() => {}));
  await queue.admin.rows(
    'create trigger refuse before delete on taskq.asks for each row execute function public.refuse_asks()',
  );
  await inGroup('ann');
  const plain = await enqueue(queue.admin);
  expect(await claimed(me)).toEqual([plain]);
  expect(notices).toEqual([
    "taskq gives out no slot of group 'ann' in queue 'default': not allowed by the application (P0001)",
  ]);
});

test('a group that runs one after the other goes on where claims are: it ends before the backlog that came after it', async () => {
  await setQueue({ group_limit: 1, group_order: 'strict' });
  const mine: string[] = [];
  for (let n = 0; n < 20; n++) mine.push(await inGroup('ann'));
  const later = await enqueueSome(queue.admin, 400);
  // As if it had come in the last thirty seconds.
  await queue.admin.rows(
    `update taskq.tasks set available_at = now() - interval '30 s' + (id - $1) * interval '75 ms' where group_key is null`,
    later[0],
  );
  await queue.admin.rows(
    "update taskq.tasks set not_before = now() - interval '31 s' where group_key is not null",
  );
  const me = await worker();
  const claimer = claimerOf(me.session, me);
  const ended: string[] = [];
  for (let n = 0; n < 100 && ended.length < 420; n++) {
    await claimer.sweep();
    const tasks = await claimer.claim(10);
    await me.settle(...tasks.map(({ id, leaseNo }) => ({ id, lease_no: leaseNo, outcome: 'completed' })));
    ended.push(...tasks.map(({ id }) => id));
    claimer.pass(10);
  }
  expect(ended).toHaveLength(420);
  expect(ended.filter((id) => mine.includes(id))).toEqual(mine);
  // One of ten tasks of a claim is in the group.
  expect(ended.indexOf(mine.at(-1)!)).toBeLessThan(230);
});

test.each([
  ['that runs one after the other', { group_limit: 1, group_order: 'strict' }],
  ['without a limit', {}],
])('a group %s is not put behind the rest of a bulk that came after it', async (_, settings) => {
  await setQueue(settings);
  const mine: string[] = [];
  for (let n = 0; n < 20; n++) mine.push(await inGroup('ann'));
  await enqueueSome(queue.admin, 400);
  await queue.admin.rows(
    `update taskq.tasks set not_before = not_before - interval '30 s', available_at = available_at - interval '30 s'`,
  );
  const me = await worker();
  const claimer = claimerOf(me.session, me);
  const ended: string[] = [];
  for (let n = 0; n < 100 && ended.length < 420; n++) {
    await claimer.sweep();
    const tasks = await claimer.claim(10);
    await me.settle(...tasks.map(({ id, leaseNo }) => ({ id, lease_no: leaseNo, outcome: 'completed' })));
    ended.push(...tasks.map(({ id }) => id));
    claimer.pass(10);
  }
  expect(ended).toHaveLength(420);
  expect(ended.filter((id) => mine.includes(id))).toEqual(mine);
  expect(ended.indexOf(mine.at(-1)!)).toBeLessThan(230);
});

test('a claim that is left open holds up no more groups than it asked for tasks', async () => {
  await setQueue({ group_limit: 1 });
  const groups = await queue.admin.rows<{ name: string }>(
    `select min(name) as name from (select n::text as name from generate_series(1, 200) as n) as g
     group by taskq.mutex_of('default', name) order by min(name::integer) limit 20`,
  );
  for (const { name } of groups) for (let n = 0; n < 2; n++) await inGroup(name);
  const [open, other] = [await worker(), await worker()];
  await open.session.rows('begin');
  expect(await open.claim({ start: 3 })).toHaveLength(3);
  const started = new Set<string>();
  for (let n = 0; n < 10; n++)
    for (const { id } of await other.claim({ start: 20 }))
      started.add(String((await liveRow(queue.admin, id))!.group_key));
  expect(started.size).toBe(17);
  await open.session.rows('rollback');
  expect(await other.claim({ start: 20 })).toHaveLength(3);
});

describe('tasks that wait for a retry when their slots are taken back', () => {
  /** Of a group of `limit` in strict order: tasks that wait for a retry, and one after them. */
  async function retrying(me: PlainWorker, limit: number, delay_ms: number) {
    await setQueue({ group_limit: limit });
    const ids: string[] = [];
    for (let nth = 0; nth < limit; nth++) ids.push(await inGroup('ann'));
    const tasks = await me.claim({ start: 10 });
    await me.settle(...tasks.map((task) => outcome(task, 'failed', { delay_ms })));
    return { ids, next: await inGroup('ann') };
  }

  /** How many tasks of the group a worker has. */
  const started = () =>
    queue.admin.value<number>('select count(*)::int from taskq.tasks where lease_owner is not null');

  test('do not exceed a limit that was lowered meanwhile, and start one after the other in their order', async () => {
    const me = await worker();
    const { ids, next } = await retrying(me, 3, 0);
    await queue.admin.rows("select taskq.set_group('default', 'ann', '{\"limit\": 1}')");
    for (const id of [...ids, next]) {
      const tasks = await me.claim({ start: 10 });
      expect(tasks.map((task) => task.id)).toEqual([id]);
      expect(await claimed(me)).toEqual([]);
      await complete(me, tasks);
    }
  });

  test('do not exceed it either where the claim has no turn for their group', async () => {
    const me = await worker();
    await retrying(me, 3, 0);
    await queue.admin.rows("select taskq.set_group('default', 'ann', '{\"limit\": 1}')");
    await queue.admin.rows("update taskq.asks set due_at = due_at + interval '1 hour'");
    await me.claim({ start: 10 });
    expect(await started()).toBe(1);
  });

  test.each([
    [
      'a pause',
      ["select taskq.pause_group('default', 'ann')"],
      ["select taskq.resume_group('default', 'ann')"],
    ],
    [
      'a lower limit',
      ["select taskq.set_group('default', 'ann', '{\"limit\": 1}')"],
      ["select taskq.set_group('default', 'ann', '{\"limit\": null}')"],
    ],
  ])('keep their turns: after %s, no later task passes them', async (_what, stop, start) => {
    const me = await worker();
    const { ids, next } = await retrying(me, 2, 60_000);
    for (const sql of stop) await queue.admin.rows(sql);
    await me.claim({ types: ['other'] });
    for (const sql of start) await queue.admin.rows(sql);
    expect(await claimed(me)).toEqual([]);
    const gates = await queue.admin.rows<{ gate: string }>('select gate from taskq.tasks order by id');
    expect(gates.map(({ gate }) => gate)).toEqual(['h', 'h', 'w']);
    await queue.admin.rows('select taskq.retry($1)', ids);
    expect(await claimed(me)).toEqual(ids);
    expect(await liveRow(queue.admin, next)).toMatchObject({ gate: 'w' });
  });

  test('can be retried now, edited and explained before they have a slot again', async () => {
    const me = await worker();
    const { ids } = await retrying(me, 1, 60_000);
    await queue.admin.rows("select taskq.pause_group('default', 'ann')");
    await me.claim({ types: ['other'] });
    const { causes } = await queue.admin.value<{ causes: object[] }>('select taskq.explain($1)', ids[0]!);
    expect(causes).toMatchObject([{ cause: 'retrying' }, { cause: 'group_paused' }]);
    await queue.admin.rows(`select taskq.edit($1, '{"payload": {"n": 2}}')`, ids);
    expect(await liveRow(queue.admin, ids[0]!)).toMatchObject({ gate: 'w', payload: { n: 2 } });
    expect(await queue.admin.rows('select answer from taskq.retry($1)', ids)).toEqual([
      { answer: 'retried' },
    ]);
    await queue.admin.rows("select taskq.resume_group('default', 'ann')");
    expect(await claimed(me)).toEqual(ids);
  });

  test('hold up no other where their group has a rate and no limit', async () => {
    const me = await worker();
    await setQueue({ group_rate: '1000/1s', group_burst: 2 });
    const ids = [await inGroup('ann'), await inGroup('ann')];
    const tasks = await me.claim({ start: 10 });
    await me.settle(...tasks.map((task) => outcome(task, 'failed', { delay_ms: 3_600_000 })));
    const next = [await inGroup('ann'), await inGroup('ann')];
    const found: string[] = [];
    await expect.poll(async () => found.push(...(await claimed(me))) && found).toEqual(next);
    const waiting = await queue.admin.rows<{ id: string; gate: string }>(
      'select id, gate from taskq.tasks where lease_owner is null order by id',
    );
    expect(waiting).toEqual(ids.map((id) => ({ id, gate: 'd' })));
  });

  test.each([
    ['relaxed order', `{"group_order": "relaxed"}`],
    ['no limit', `{"group_limit": null}`],
  ])('hold up no other where their group gets %s meanwhile', async (_what, settings) => {
    const me = await worker();
    const { ids, next } = await retrying(me, 2, 3_600_000);
    await queue.admin.rows("select taskq.pause_group('default', 'ann')");
    await me.claim({ types: ['other'] });
    await setQueue(JSON.parse(settings));
    await me.claim({ types: ['other'] });
    await queue.admin.rows("select taskq.resume_group('default', 'ann')");
    let tasks: Claimed[] = [];
    await expect
      .poll(async () => {
        tasks = await me.claim({ start: 10 });
        return tasks.map(({ id }) => id);
      })
      .toEqual([next]);
    await complete(me, tasks);
    await queue.admin.rows('select taskq.retry($1)', ids);
    expect(await claimed(me)).toEqual(ids);
  });
});
