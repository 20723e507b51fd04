import { expect, test } from 'vitest';
import { type AuditFilter, listAudit } from '../../src/queue/inspect/list-audit.ts';
import { showTask } from '../../src/queue/inspect/show-task.ts';
import { addDead } from '../../src/queue/operate/add-dead.ts';
import { addTypes } from '../../src/queue/operate/add-types.ts';
import { cancel } from '../../src/queue/operate/cancel.ts';
import { setDefaults } from '../../src/queue/operate/defaults.ts';
import { discard } from '../../src/queue/operate/discard.ts';
import { edit } from '../../src/queue/operate/edit.ts';
import { releaseKey } from '../../src/queue/operate/keys.ts';
import { pauseQueue, resumeQueue } from '../../src/queue/operate/pause-queue.ts';
import { pauseWorker, resumeWorker } from '../../src/queue/operate/pause-worker.ts';
import { purge } from '../../src/queue/operate/purge.ts';
import { removeType } from '../../src/queue/operate/remove-type.ts';
import { rerun } from '../../src/queue/operate/rerun.ts';
import { retry } from '../../src/queue/operate/retry.ts';
import { revive } from '../../src/queue/operate/revive.ts';
import { setQueue } from '../../src/queue/operate/set-queue.ts';
import { setType } from '../../src/queue/operate/set-type.ts';
import { setWorker } from '../../src/queue/operate/set-worker.ts';
import { stopWorker } from '../../src/queue/operate/stop-worker.ts';
import { readFunctions } from '../../src/queue/schema/schema-release.ts';
import { insertWorkflow } from './flow/steps.ts';
import { enqueue } from './rows.ts';
import { useDatabase } from './session.ts';
import { claimOne, outcome, registerWorker } from './worker.ts';

const queue = useDatabase();

const by = 'ann@laptop';
const acting = { by, reason: 'asked for' };

async function recorded(): Promise<readonly Record<string, unknown>[]> {
  const role = await queue.admin.value<string>('select session_user');
  const rows = await queue.admin.rows<Record<string, unknown>>(
    'select verb, role, by, task_ids, queue, worker, type, settings, reason from taskq.audit order by id',
  );
  return rows.map(({ role: its, ...row }) => {
    expect(its).toBe(role);
    return Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null));
  });
}

test('a pause records when it ends by itself', async () => {
  await pauseQueue(queue.admin, 'mail', { by, reason: 'deploy', forMs: 3_600_000 });
  const [row] = await queue.admin.rows<{ ends: boolean }>(
    `select (a.settings ->> 'until')::timestamptz = q.paused_until as ends
     from taskq.audit a join taskq.queues q on q.name = a.queue`,
  );
  expect(row).toEqual({ ends: true });
});

test('every verb records who, when, why and on what: the role of the session, and beside it the name that the caller adds', async () => {
  const worker = await registerWorker(queue.admin);
  const waiting = await enqueue(queue.admin, { delay_ms: 60_000 });
  await retry(queue.admin, [waiting], acting);
  await addDead(queue.admin, waiting, 'parked', { by });
  await revive(queue.admin, [waiting], acting);
  await worker.settle(outcome(await claimOne(worker), 'dead', { reason: 'r' }));
  await discard(queue.admin, [waiting], acting);
  const other = await enqueue(queue.admin);
  await cancel(queue.admin, [other], 'not needed', { by });
  await rerun(queue.admin, [other], acting);
  await purge(queue.admin, [other], acting);
  await pauseQueue(queue.admin, 'mail', { by, reason: 'deploy', forMs: null });
  await resumeQueue(queue.admin, 'mail', acting);
  await pauseWorker(queue.admin, String(worker.id), acting);
  await resumeWorker(queue.admin, String(worker.id), acting);
  await stopWorker(queue.admin, String(worker.id), acting);
  const of = (verb: string, more: object) => ({ verb, ...acting, ...more });
  expect(await recorded()).toEqual([
    of('retry', { task_ids: [waiting] }),
    of('dead add', { task_ids: [waiting], reason: 'parked' }),
    of('revive', { task_ids: [waiting] }),
    of('discard', { task_ids: [waiting] }),
    of('cancel', { task_ids: [other], reason: 'not needed' }),
    of('rerun', { task_ids: [other] }),
    of('purge', { task_ids: [other] }),
    of('pause', { queue: 'mail', reason: 'deploy' }),
    of('resume', { queue: 'mail' }),
    of('pause', { worker: worker.id }),
    of('resume', { worker: worker.id }),
    of('stop', { worker: worker.id }),
  ]);
});

test('every verb that changes a setting records its new value', async () => {
  const worker = await registerWorker(queue.admin);
  await setQueue(queue.admin, 'mail', { max_attempts: 7, timeout_ms: null }, acting);
  await addTypes(queue.admin, ['work', 'new/b', 'new/a'], acting);
  await setType(queue.admin, 'letter', { priority: 'high' }, acting);
  expect(await removeType(queue.admin, 'letter', acting)).toBe('removed');
  await setDefaults(queue.admin, { max_attempts: 9 }, acting);
  await setWorker(queue.admin, String(worker.id), { lease_ms: 60_000 }, acting);
  const id = await enqueue(queue.admin, { key: 'k', key_for: 'ever' });
  expect(await releaseKey(queue.admin, { queue: 'default', key: 'k' }, acting)).toBe('live');
  const of = (verb: string, more: object) => ({ verb, ...acting, ...more });
  expect(await recorded()).toEqual([
    of('set', { queue: 'mail', settings: { max_attempts: 7, timeout_ms: null } }),
    of('add', { type: 'new/a' }),
    of('add', { type: 'new/b' }),
    of('add', { type: 'letter' }),
    of('set', { type: 'letter', settings: { priority: 1 } }),
    of('remove', { type: 'letter' }),
    of('set', { settings: { max_attempts: 9 } }),
    of('set', { worker: worker.id, settings: { lease_ms: 60_000 } }),
    of('release key', { task_ids: [id], queue: 'default', settings: { key: 'k' } }),
  ]);
});

test('what a verb did to nothing is not recorded; without a name the role stands alone', async () => {
  const id = await enqueue(queue.admin);
  await revive(queue.admin, [id]);
  await discard(queue.admin, [id]);
  await purge(queue.admin, [id]);
  await rerun(queue.admin, [id]);
  await retry(queue.admin, [id, '999999999']);
  await edit(queue.admin, ['999999999'], { priority: 1 });
  expect(await resumeQueue(queue.admin, 'never')).toBe(false);
  expect(await removeType(queue.admin, 'never')).toBe('not_known');
  expect(await setWorker(queue.admin, '2', { concurrency: 1 })).toBe(false);
  expect(await releaseKey(queue.admin, { queue: 'default', key: 'never' })).toBe('not_held');
  expect(await recorded()).toEqual([]);
  await queue.admin.rows("select taskq.pause_queue('mail')");
  expect(await recorded()).toEqual([{ verb: 'pause', queue: 'mail' }]);
  const paused = "select paused_by = session_user from taskq.list_queues() where name = 'mail'";
  expect(await queue.admin.value(paused)).toBe(true);
});

test.each(["pause_queue('mail', $1)", 'pause_worker($2, $1)', 'stop_worker($2, $1)'])(
  'an invalid name is refused with the reason: %s',
  async (call) => {
    const worker = await registerWorker(queue.admin);
    const values = call.includes('$2') ? ['', worker.id] : [''];
    await expect(queue.admin.rows(`select taskq.${call}`, ...values)).rejects.toMatchObject({
      code: '22023',
      message: expect.stringMatching(/^(pause|stop): by "": expected text of 1 to 200 characters$/),
    });
  },
);

test.each(['revive', 'rerun'])(
  '%s refuses an invalid name for all tasks, not each task for it',
  async (verb) => {
    const id = await enqueue(queue.admin);
    await (verb === 'revive' ? addDead(queue.admin, id, 'parked') : cancel(queue.admin, [id]));
    await expect(queue.admin.rows(`select taskq.${verb}($1, '{"by": ""}')`, [id])).rejects.toMatchObject({
      code: '22023',
      message: `${verb}: by "": expected text of 1 to 200 characters`,
    });
  },
);

test('it is recorded with what was done, or not at all', async () => {
  const id = await enqueue(queue.admin);
  await queue.admin.rows('begin');
  await cancel(queue.admin, [id], null, { by });
  await queue.admin.rows('rollback');
  expect(await recorded()).toEqual([]);
  await expect(cancel(queue.admin, [id], null, { by: 'x'.repeat(201) })).rejects.toThrow(
    `cancel: by "${'x'.repeat(199)}…: expected text of 1 to 200 characters`,
  );
  expect((await showTask(queue.admin, id))!.status).toBe('pending');
});

/** A call of each verb of an operator; each changes something, after those before it. */
const VERBS: Readonly<Record<string, string>> = {
  add_types: "('{work,new}')",
  set_type: `('work', '{"priority": 1}')`,
  set_queue: `('mail', '{"max_attempts": 7}')`,
  set_group: `('mail', 'g', '{"limit": 2}')`,
  set_defaults: `('{"max_attempts": 9}')`,
  set_schedule: "('s', '@every 1h', 'work')",
  run_schedule: "('s')",
  pause_schedule: "('s')",
  resume_schedule: "('s')",
  remove_schedule: "('s')",
  pause_queue: "('mail')",
  resume_queue: "('mail')",
  pause_group: "('mail', 'g')",
  resume_group: "('mail', 'g')",
  remove_type: "('new')",
  resume_type: "('work')",
  set_worker: `($worker, '{"concurrency": 3}')`,
  pause_worker: '($worker)',
  resume_worker: '($worker)',
  stop_worker: '($worker)',
  edit: `(array[$waiting], '{"priority": 1}')`,
  retry: '(array[$waiting])',
  add_dead: "($waiting, 'parked')",
  revive: '(array[$waiting])',
  release_key: "('default', 'k')",
  cancel: '(array[$waiting])',
  rerun: '(array[$waiting])',
  purge: '(array[$waiting])',
  discard: '(array[$dead])',
  retry_workflow: '($failed)',
  close_workflow: '($open)',
  cancel_workflow: '($failed)',
  add_token: `('shop', '${'0'.repeat(64)}')`,
  revoke_token: "('shop')",
  start_operation: "('purge', '{}')",
  stop_operation: '($operation)',
};

test('there is no verb of an operator that leaves no row', async () => {
  // What a server records of its callers is no verb.
  const verbs = (await readFunctions()).filter(
    ({ name, text }) =>
      name !== 'note_token_uses' &&
      /^-- Granted to: ((producer|worker that enqueues), )?operator\.$/m.test(text),
  );
  expect(verbs.map(({ name }) => name).sort()).toEqual(Object.keys(VERBS).sort());
  const dead = await enqueue(queue.admin);
  await addDead(queue.admin, dead, 'parked');
  const own: Readonly<Record<string, string>> = {
    worker: String((await registerWorker(queue.admin)).id),
    waiting: await enqueue(queue.admin, { delay_ms: 60_000, key: 'k', key_for: 'ever' }),
    dead,
    failed: (await insertWorkflow(queue.admin, [{ step: 'a', status: 'dead' }])).id,
    operation: await queue.admin.value(
      "select id from taskq.start_operation('discard', $1)",
      JSON.stringify({ ids: [dead] }),
    ),
    open: (await insertWorkflow(queue.admin, [], { is_open: true, state: 'open' })).id,
  };
  await queue.admin.rows("select taskq.add_types('{work}')");
  await queue.admin.rows("insert into taskq.breakers (type, opened_at) values ('work', clock_timestamp())");
  await queue.admin.rows('delete from taskq.audit');
  for (const [name, call] of Object.entries(VERBS)) {
    const before = await queue.admin.value<number>('select count(*)::int from taskq.audit');
    const values = call.replaceAll(/\$(\w+)/g, (_, of: string) => own[of]!);
    await queue.admin.rows(`select * from taskq.${name}${values}`);
    const after = await queue.admin.value<number>('select count(*)::int from taskq.audit');
    expect([name, after! - before!]).toEqual([name, 1]);
  }
});

test('a setting is recorded with the one that it replaced, which an operator had set; tasks with the filter that chose them', async () => {
  await setQueue(queue.admin, 'mail', { max_attempts: 7 });
  await setQueue(queue.admin, 'mail', { max_attempts: 8, timeout_ms: 1000 });
  await setDefaults(queue.admin, { max_attempts: 9 });
  await setDefaults(queue.admin, { max_attempts: null });
  await queue.admin.rows(`select taskq.set_group('mail', 'g', '{"limit": 2}')`);
  await queue.admin.rows(`select taskq.set_group('mail', 'g', '{"limit": 3}')`);
  await setType(queue.admin, 'work', { priority: 'high' });
  await setType(queue.admin, 'work', { priority: 'low' });
  const worker = await registerWorker(queue.admin);
  await setWorker(queue.admin, String(worker.id), { lease_ms: 60_000 });
  await setWorker(queue.admin, String(worker.id), { lease_ms: 50_000 });
  const filter = { type: 'work', since: '2026-01-01T00:00:00.000Z' };
  await cancel(queue.admin, [await enqueue(queue.admin)], null, { filter });
  const rows = await queue.admin.rows('select verb, before, filter from taskq.audit order by id');
  const set = (before: object) => ({ verb: 'set', before, filter: null });
  expect(rows).toEqual([
    set({ max_attempts: null }),
    set({ max_attempts: 7, timeout_ms: null }),
    set({ max_attempts: null }),
    set({ max_attempts: 9 }),
    { ...set({ limit: null }), verb: 'set group' },
    { ...set({ limit: 2 }), verb: 'set group' },
    set({ priority: null }),
    set({ priority: 1 }),
    set({ lease_ms: null }),
    set({ lease_ms: 60_000 }),
    { verb: 'cancel', before: null, filter },
  ]);
});

test('it is listed newest first, by pages and by filter, with what the client calls itself', async () => {
  await queue.admin.rows("set application_name = 'front desk'");
  const id = await enqueue(queue.admin);
  await setQueue(queue.admin, 'mail', { max_attempts: 7 }, { by });
  await addDead(queue.admin, id, 'parked', { by: 'bob' });
  await queue.admin.rows("set application_name = ''");
  await revive(queue.admin, [id], { by: 'bob' });
  const verbs = async (filter: AuditFilter, limit = 10, after: string | null = null) =>
    (await listAudit(queue.admin, filter, limit, after)).actions.map(({ verb }) => verb);
  const [newest] = (await listAudit(queue.admin, {}, 1)).actions;
  expect(newest).toMatchObject({ verb: 'revive', by: 'bob', via: null, task_ids: [id], worker: null });
  expect(await verbs({}, 10, newest!.id)).toEqual(['dead add', 'set']);
  expect(await verbs({ who: 'ann' })).toEqual(['set']);
  expect(await verbs({ who: by })).toEqual(['set']);
  expect(await verbs({ who: newest!.role })).toHaveLength(3);
  expect(await verbs({ who: 'an' })).toEqual([]);
  expect(await verbs({ verb: 'dead add' })).toEqual(['dead add']);
  expect(await verbs({ via: 'front desk' })).toEqual(['dead add', 'set']);
  expect(await verbs({ task: id })).toEqual(['revive', 'dead add']);
  expect(await verbs({ task: '999' })).toEqual([]);
  expect(await verbs({ queue: 'mail' })).toEqual(['set']);
  expect(await verbs({ type: 'mail' })).toEqual([]);
  expect(await verbs({ before: newest!.at })).toEqual(['dead add', 'set']);
  expect(await verbs({ since: newest!.at })).toEqual(['revive']);
  await expect(queue.admin.rows(`select taskq.list_audit('{"whom": "ann"}')`)).rejects.toMatchObject({
    code: '22023',
    message: 'list_audit: unknown option "whom" (did you mean "who"?)',
  });
});

test('show has what was done to the task, oldest first, and nothing of others', async () => {
  const [id, other] = [await enqueue(queue.admin), await enqueue(queue.admin)];
  await addDead(queue.admin, id, 'parked', { by });
  await addDead(queue.admin, other, 'parked', { by });
  await revive(queue.admin, [id, other], { by: 'bob' });
  await cancel(queue.admin, [other]);
  expect((await showTask(queue.admin, id))!.actions).toMatchObject([
    { verb: 'dead add', by, reason: 'parked' },
    {
      verb: 'revive',
      by: 'bob',
      reason: null,
      role: expect.stringMatching(/./),
      at: expect.stringMatching(/^\d{4}-/),
    },
  ]);
});

test('it is kept for 90 days, and never more than a million calls', async () => {
  const kept = async () => {
    await queue.admin.rows('select taskq.maintain()');
    return queue.admin
      .rows<{ by: string }>('select by from taskq.audit order by id')
      .then((rows) => rows.map((row) => row.by));
  };
  const record = (name: string) => queue.admin.rows('select taskq.pause_queue($1, $1)', name);
  await record('old');
  await queue.admin.rows("update taskq.audit set at = at - interval '91 days'");
  await record('recent');
  await queue.admin.rows("update taskq.audit set at = at - interval '89 days' where by = 'recent'");
  expect(await kept()).toEqual(['recent']);
  await queue.admin.rows("select setval('taskq.audit_id_seq', (select max(id) from taskq.audit) + 1000000)");
  await record('a million later');
  await record('and one');
  expect(await kept()).toEqual(['a million later', 'and one']);
});

test('an edit of large payloads is recorded in rows that can be listed, a page of some megabytes at a time', async () => {
  await queue.admin.rows(
    `select taskq.enqueue('work', to_jsonb(repeat(md5(n::text), 28000))) from generate_series(1, 40) as n`,
  );
  const ids = (await queue.admin.rows<{ id: string }>('select id::text from taskq.tasks order by id')).map(
    ({ id }) => id,
  );
  await edit(queue.admin, ids, { payload: '{}' }, { by });
  const found: string[] = [];
  for (let after: string | null | undefined; after !== null; ) {
    const page = await listAudit(queue.admin, {}, 100, after ?? null);
    expect(JSON.stringify(page).length).toBeLessThan(16_000_000);
    for (const { task_ids: of, before } of page.actions) {
      expect(Object.keys(before!)).toEqual(of);
      found.push(...of!);
    }
    after = page.nextAfter;
  }
  expect(found.toSorted((a, b) => Number(a) - Number(b))).toEqual(ids);
  const { actions, nextAfter } = await listAudit(queue.admin, { task: ids[7]! }, 100);
  expect(nextAfter).toBeNull();
  expect(actions.map(({ before }) => Object.keys(before!))).toEqual([[ids[7]]]);
});
