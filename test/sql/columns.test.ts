import { expect, test } from 'vitest';
import { readFunctions } from '../../src/queue/schema/schema-release.ts';
import { useDatabase } from '../queue/session.ts';
import { explained, reportPlans } from './explained.ts';

const queue = useDatabase();

/** The functions that make a row of a table, and the column `note` that the tests add as each would take it. */
const MAKERS = [
  { name: 'new_task', table: 'tasks', note: "'said'::text as note" },
  { name: 'revived_task', table: 'tasks', note: 'dead.note' },
  { name: 'finished_task', table: 'finished_tasks', note: 'task.note' },
  { name: 'dead_task', table: 'dead_tasks', note: 'task.note' },
  { name: 'dead_of_finished', table: 'dead_tasks', note: 'done.note' },
] as const;

type Row = Readonly<Record<string, unknown>>;

async function textOf(name: string): Promise<string> {
  const found = (await readFunctions()).find((one) => one.name === name);
  return found!.text;
}

/** The names of what a function selects, in its order. */
function selected(text: string): string[] {
  const list = /^ {2}select\n([\s\S]*)\n\$\$;/m.exec(text)![1]!;
  let depth = 0;
  const items = [''];
  for (const char of list) {
    if ('(['.includes(char)) depth++;
    if (')]'.includes(char)) depth--;
    if (char === ',' && depth === 0) items.push('');
    else items[items.length - 1] += char;
  }
  return items.map((item) => /(\w+)\s*$/.exec(item.replace(/::\w+(\.\w+)?\s*$/, ''))![1]!);
}

test.each(MAKERS)('$name names the columns of $table in their order', async ({ name, table }) => {
  const columns = await queue.admin.rows<{ name: string }>(
    `select attname as name from pg_attribute
     where attrelid = $1::regclass and attnum > 0 and not attisdropped order by attnum`,
    `taskq.${table}`,
  );
  expect(selected(await textOf(name))).toEqual(columns.map((column) => column.name));
});

test('no other function lists the columns of a row that it inserts, but the fast path of one task', async () => {
  const listing = (await readFunctions()).filter(({ text }) =>
    /insert into taskq\.(tasks|finished_tasks|dead_tasks)\s*\(/.test(text),
  );
  expect(listing.map(({ name }) => name)).toEqual(['enqueue']);
});

test('all_tasks shows every column of the three tables, but what only the protocol reads', async () => {
  const unseen = await queue.admin.rows<{ name: string }>(
    `select distinct c.attname as name from pg_attribute c
     where c.attrelid in ('taskq.tasks'::regclass, 'taskq.finished_tasks'::regclass, 'taskq.dead_tasks'::regclass)
       and c.attnum > 0 and not c.attisdropped
       and not exists (
         select from pg_attribute v where v.attrelid = 'taskq.all_tasks'::regclass and v.attname = c.attname
       )
     order by name`,
  );
  expect(unseen.map(({ name }) => name)).toEqual([
    'died_at',
    'drop_on',
    'fingerprint',
    'gate',
    'kept_in',
    'lost_ahead',
    'notify_done',
    'on_end',
    'payload_bytes',
    'settled_by',
    'superseded',
  ]);
});

/** Puts in a waiting task whose columns all differ, and returns it. */
async function insertFullRow(): Promise<Row> {
  const columns = await queue.admin.rows<{ name: string; type: string; place: number }>(
    `select attname as name, format_type(atttypid, null) as type, attnum::integer as place from pg_attribute
     where attrelid = 'taskq.tasks'::regclass and attnum > 0 and not attisdropped order by attnum`,
  );
  const values: Record<string, string> = {};
  for (const { name, type, place } of columns) {
    if (['lease_owner', 'lease_expires_at', 'status'].includes(name)) continue;
    values[name] = {
      bigint: `${1000 + place}`,
      integer: `${place}`,
      smallint: '7',
      boolean: 'true',
      text: `'${name}'`,
      jsonb: `'{"${name}": 1}'`,
      '"char"': "'g'",
      'taskq.retention': "'7d'",
      'timestamp with time zone': `clock_timestamp() - ${place} * interval '1 minute'`,
    }[type]!;
  }
  await queue.admin.rows(
    `insert into taskq.tasks (${Object.keys(values)}) values (${Object.values(values)})`,
  );
  return rowOf('tasks');
}

function rowOf(table: string): Promise<Row> {
  return queue.admin.value<Row>(`select to_jsonb(t) from taskq.${table} t`);
}

/** The columns that both have, and that differ. */
function changed(before: Row, after: Row): string[] {
  return Object.keys(before)
    .filter((name) => name in after && JSON.stringify(before[name]) !== JSON.stringify(after[name]))
    .toSorted();
}

test('a dead letter is the task as it was, and so is the task that is revived from it', async () => {
  const before = await insertFullRow();
  await queue.admin.rows('select taskq.add_dead($1, $2)', before.id, 'by hand');
  const dead = await rowOf('dead_tasks');
  expect(changed(before, dead)).toEqual(['lease_owner']);
  expect(dead.lease_owner).toBe(before.settled_by);
  await queue.admin.rows('select taskq.revive($1)', [before.id]);
  const after = await rowOf('tasks');
  expect(changed(before, after)).toEqual([
    'again',
    'attempts',
    'available_at',
    'cancel_reason',
    'cancel_requested_at',
    'expires_at',
    'gate',
    'losses',
    'lost_ahead',
    'not_before',
    'payload_bytes',
    'releases',
    'started_at',
    // It has a group, and waits for a slot.
    'status',
  ]);
});

test('a task that replaces a waiting one leaves it what identifies it, and nothing else', async () => {
  const before = await insertFullRow();
  await queue.admin.rows(`select from taskq.enqueue('work', '{"new": 1}', jsonb_build_object(
    'queue', 'other', 'priority', 8, 'delay_ms', 5000, 'expires_ms', 7000, 'max_attempts', 4, 'timeout_ms', 3,
    'tags', '{"new": "1"}'::jsonb, 'backoff', '{"kind": "fixed"}'::jsonb, 'retention', 'ever',
    'traceparent', 'new', 'source', 'new', 'notify_done', true))`);
  await queue.admin.rows(
    `update taskq.tasks t set again = taskq.again_of(o, null, false) || '{"created_by": "new", "payload_bytes": 0}'
     from taskq.tasks o where t.id = $1 and o.id <> $1`,
    before.id,
  );
  await queue.admin.rows('delete from taskq.tasks where id <> $1', before.id);
  await queue.admin.rows('select taskq.take_again(array[$1::bigint], clock_timestamp())', before.id);
  const after = await rowOf('tasks');
  const kept = Object.keys(before).filter((name) => !changed(before, after).includes(name));
  // Of its group it needs a slot anew: `gate` and `status`.
  expect(kept.toSorted()).toEqual([
    ...['cancel_reason', 'cancel_requested_at', 'created_at', 'group_key', 'id', 'lease_expires_at'],
    ...['lease_no', 'lease_owner', 'notify_done', 'queue', 'settled_by', 'step', 'type', 'unique_key'],
    'workflow_id',
  ]);
});

test('history keeps a cancelled task as it was', async () => {
  const before = await insertFullRow();
  await queue.admin.rows('select taskq.cancel($1, $2)', [before.id], 'no need');
  const after = await rowOf('finished_tasks');
  expect(changed(before, after)).toEqual(['lease_owner', 'status']);
  expect(after.lease_owner).toBe(before.settled_by);
});

test('history keeps a completed task as it was', async () => {
  await insertFullRow();
  await queue.admin.rows(
    `update taskq.tasks
     set status = 'running', lease_owner = 1, lease_expires_at = clock_timestamp() + interval '1 minute'`,
  );
  const before = await rowOf('tasks');
  await queue.admin.rows('select taskq.complete(1, $1, $2)', [before.id], [before.lease_no]);
  expect(changed(before, await rowOf('finished_tasks'))).toEqual(['status']);
});

/** One task by each way to insert one; those with keys are inserted in two ways. */
async function enqueueByEveryWay(): Promise<string[]> {
  const many = async (tasks: readonly object[]) =>
    (
      await queue.admin.rows<{ id: string }>(
        'select id from taskq.enqueue_many($1) order by place',
        JSON.stringify(tasks),
      )
    ).map(({ id }) => id);
  return [
    await queue.admin.value<string>("select id from taskq.enqueue('work')"),
    ...(await many([{ type: 'work' }, { type: 'work' }])),
    ...(await many([
      { type: 'work', key: 'a' },
      { type: 'work', key: 'b' },
    ])),
    ...(await many([{ type: 'work', key: 'c' }])),
  ];
}

test('a new column takes its line in each function that makes a row, and nothing else', async () => {
  await queue.admin.rows('begin');
  for (const table of ['tasks', 'finished_tasks', 'dead_tasks'])
    await queue.admin.rows(
      `alter table taskq.${table} add column note text ${table === 'tasks' ? "default 'said'" : ''}`,
    );
  for (const { name, note } of MAKERS)
    await queue.admin.rows((await textOf(name)).replace(/\n\$\$;\s*$/, `, ${note}\n$$$$;`));
  const ids = await enqueueByEveryWay();
  const notes = (table: string) => queue.admin.rows(`select id, note from taskq.${table} order by id`);
  expect(await notes('tasks')).toEqual(ids.map((id) => ({ id, note: 'said' })));

  await queue.admin.rows("update taskq.tasks set note = 'of ' || id");
  const [first, second, third] = ids.map((id) => ({ id, note: `of ${id}` }));
  await queue.admin.rows('select taskq.add_dead($1, $2)', first!.id, 'by hand');
  expect(await notes('dead_tasks')).toEqual([first]);
  await queue.admin.rows('select taskq.revive($1)', [first!.id]);
  expect((await notes('tasks'))[0]).toEqual(first);
  await queue.admin.rows('select taskq.cancel($1)', [second!.id]);
  await queue.admin.rows(
    `update taskq.tasks
     set status = 'running', lease_owner = 1, lease_expires_at = clock_timestamp() + interval '1 minute'
     where id = $1`,
    third!.id,
  );
  await queue.admin.rows('select taskq.complete(1, $1, $2)', [third!.id], [0]);
  expect(await notes('finished_tasks')).toEqual([second, third]);
  // As a cancelled step is taken back into its workflow.
  expect(
    await queue.admin.rows(
      `select d.id, d.note from taskq.finished_tasks f cross join lateral taskq.dead_of_finished(f) as d order by d.id`,
    ),
  ).toEqual([second, third]);
  await queue.admin.rows('rollback');
});

test('a row is made in the statement that inserts it: no function is called and no composite value is built', async () => {
  const session = await queue.directSession();
  await reportPlans(session);
  await session.client.query('set auto_explain.log_verbose = on');
  const { inserts } = await explained(session, async () => {
    const id = await session.value<string>(
      `select id from taskq.enqueue_many('[{"type": "work"}, {"type": "work"}]') limit 1`,
    );
    await session.rows(
      `select taskq.enqueue_many('[{"type": "work", "key": "a"}, {"type": "work", "key": "b"}]')`,
    );
    await session.rows(`select taskq.enqueue_many('[{"type": "work", "key": "c"}]')`);
    await session.rows('select taskq.add_dead($1, $2)', id, 'by hand');
    await session.rows('select taskq.revive($1)', [id]);
    await session.rows('select taskq.cancel($1)', [id]);
    await session.rows(
      `update taskq.tasks
       set status = 'running', lease_owner = 1, lease_expires_at = clock_timestamp() + interval '1 minute'`,
    );
    await session.rows('select taskq.complete(1, array_agg(id), array_agg(lease_no)) from taskq.tasks');
  });
  const tables = inserts.map((plan) => plan['Relation Name']);
  expect(tables.filter((table) => table === 'tasks')).toHaveLength(4);
  expect(tables.filter((table) => table === 'finished_tasks')).toHaveLength(2);
  expect(tables.filter((table) => table === 'dead_tasks')).toHaveLength(1);
  for (const plan of inserts)
    expect(JSON.stringify(plan)).not.toMatch(/(new|revived|finished|dead)_task\b|ROW\(|\*\)\./);
});
