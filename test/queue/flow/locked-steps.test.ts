import { describe, expect, test } from 'vitest';
import { enqueue, lapse, liveRow, rescueAll, silence, statusOf } from '../rows.ts';
import type { Session } from '../session.ts';
import { waitUntilBlocked } from '../waiting.ts';
import { LEASE_MS, outcome } from '../worker.ts';
import { claimSteps, insertWorkflow, settleAll, useWorkflows } from './workflows.ts';

const { queue, worker, claimed, statuses, workflow, taskOf, expectSettled } = useWorkflows();

const CHAIN = [{ step: 'a' }, { step: 'b', after: ['a:continue'] }];

/** Locks the row of a step in a transaction that stays open. */
async function lockStep(id: string, step: string): Promise<Session> {
  const person = await queue.session();
  await person.rows('begin');
  await person.rows(
    'select from taskq.workflow_steps where workflow_id = $1 and step = $2 for update',
    id,
    step,
  );
  return person;
}

/** A worker that waits for no lock at all. */
async function impatient() {
  const me = await worker();
  for (const name of [
    'complete',
    'settle_others',
    'give_back',
    'lock_lost',
    'note_steps',
    'rescue',
    'expire',
  ])
    await queue.admin.rows(
      `do $$ declare f regprocedure; begin
         select p.oid into f from pg_proc p where p.proname = '${name}' and p.pronamespace = 'taskq'::regnamespace;
         execute format('alter function %s set lock_timeout = ''1ms''', f);
       end $$`,
    );
  return me;
}

describe('while a person has the row of a step locked', () => {
  test('a step that is to wait for it is added', async () => {
    const id = await insertWorkflow(queue.admin, [{ step: 'a' }], { is_open: true });
    const person = await lockStep(id, 'a');
    const options = { workflow: id, step: 'b', after: ['a'], allow_unknown: true };
    const producer = await queue.session();
    await producer.rows("set lock_timeout = '1ms'");
    await producer.rows("select taskq.enqueue('work', '{}', $1)", options);
    await person.rows('commit');
    expect(await statuses(id)).toEqual({ a: 'released', b: 'waiting' });
  });

  test.each([
    ['completes', 'completed', 'completed'],
    ['dies', 'dead', 'dead'],
    ['fails for the last time', 'failed', 'dead'],
    ['is cancelled', 'cancelled', 'cancelled'],
  ])('its task that %s is busy, and every other outcome is recorded', async (_name, kind, status) => {
    const id = await insertWorkflow(queue.admin, [{ ...CHAIN[0]!, task: { max_attempts: 1 } }, CHAIN[1]!]);
    const other = await enqueue(queue.admin);
    const me = await impatient();
    const tasks = await me.claim({ start: 10 });
    const step = await taskOf(id, 'a');
    const person = await lockStep(id, 'a');
    expect(await settleAll(me, tasks, kind)).toMatchObject(
      tasks.map((task) => ({ id: task.id, answer: task.id === step ? 'busy' : 'recorded' })),
    );
    expect(await liveRow(queue.admin, step)).toMatchObject({ attempts: 0, error: null, lease_owner: me.id });
    expect((await liveRow(queue.admin, other))?.lease_owner ?? null).toBeNull();
    expect(await me.heartbeat(tasks.filter((task) => task.id === step))).toMatchObject([
      { answer: 'renewed' },
    ]);
    expect(await claimed(await worker())).not.toContain('b');
    await person.rows('commit');
    expect(await settleAll(me, [tasks.find((task) => task.id === step)!], kind)).toMatchObject([
      { answer: 'recorded' },
    ]);
    expect(await claimed(await worker())).toContain('b');
    expect(await statuses(id)).toEqual({ a: status, b: 'released' });
    await expectSettled(id);
  });

  test('a task that is to run again is busy too, and runs again once', async () => {
    const id = await insertWorkflow(queue.admin, CHAIN);
    const me = await impatient();
    const [task] = await claimSteps(me);
    const person = await lockStep(id, 'a');
    const again = () => me.settle(outcome(task!, 'completed', { again: { delay_ms: 60_000 } }));
    expect(await again()).toMatchObject([{ answer: 'busy' }]);
    expect(await liveRow(queue.admin, task!.id)).toMatchObject({ again: null });
    await person.rows('commit');
    expect(await again()).toMatchObject([{ answer: 'recorded' }]);
    expect(await claimed(await worker())).toEqual(['b']);
    await expectSettled(id);
  });

  test('a settle that waits for a busy task gets it as soon as the lock is gone', async () => {
    const id = await insertWorkflow(queue.admin, CHAIN);
    const me = await worker();
    const [task] = await claimSteps(me);
    const person = await lockStep(id, 'a');
    const settled = me.session.rows<{ answer: string }>(
      'select answer from taskq.settle($1, $2, $3)',
      me.id,
      JSON.stringify([outcome(task!, 'completed')]),
      { wait_for: task!.id },
    );
    await waitUntilBlocked(queue.admin);
    await person.rows('commit');
    expect(await settled).toEqual([{ answer: 'recorded' }]);
    expect(await claimed(await worker())).toEqual(['b']);
  });

  test('a task that is given back for the last time is busy, and the others are given back', async () => {
    const id = await insertWorkflow(queue.admin, [{ step: 'a', task: { releases: 9 } }, CHAIN[1]!]);
    await enqueue(queue.admin);
    const me = await impatient();
    const tasks = await me.claim({ start: 10 });
    const step = await taskOf(id, 'a');
    const person = await lockStep(id, 'a');
    expect(await me.giveBack(tasks)).toMatchObject(
      tasks.map((task) => ({ answer: task.id === step ? 'busy' : 'recorded', extra: null })),
    );
    await person.rows('commit');
    expect(await me.giveBack(tasks.filter((task) => task.id === step))).toMatchObject([
      { answer: 'recorded' },
    ]);
    expect(await statusOf(queue.admin, step)).toBe('dead');
    expect(await claimed(await worker())).toContain('b');
  });

  test('a rescue passes its task, and rescues what else a lost worker held', async () => {
    const id = await insertWorkflow(queue.admin, [{ step: 'a', task: { losses: 2 } }, CHAIN[1]!]);
    const other = await enqueue(queue.admin);
    const lost = await impatient();
    const tasks = await lost.claim({ start: 10 });
    await lost.heartbeat(tasks.map((task) => ({ ...task, started_ms: 0 })));
    const step = await taskOf(id, 'a');
    const person = await lockStep(id, 'a');
    await silence(queue.admin, lost.id, LEASE_MS + 1000);
    await lapse(
      queue.admin,
      tasks.map((task) => task.id),
    );
    expect(await rescueAll(queue.admin)).toMatchObject([{ id: other, status: 'pending' }]);
    expect(await liveRow(queue.admin, step)).toMatchObject({ losses: 2, lease_owner: lost.id });
    await person.rows('commit');
    expect(await rescueAll(queue.admin)).toMatchObject([{ id: step, status: 'dead' }]);
    expect(await claimed(await worker())).toContain('b');
    expect(await statuses(id)).toEqual({ a: 'dead', b: 'released' });
    await expectSettled(id);
  });

  test('a task that has expired is passed, and ends with the next sweep', async () => {
    const past = new Date(Date.now() - 1000);
    const id = await insertWorkflow(queue.admin, [{ step: 'a', task: { expires_at: past } }, CHAIN[1]!]);
    await impatient();
    const person = await lockStep(id, 'a');
    const expire = () => queue.admin.rows('select ended, refused from taskq.expire(10)');
    expect(await expire()).toEqual([{ ended: 0, refused: null }]);
    await person.rows('commit');
    expect(await expire()).toEqual([{ ended: 1, refused: null }]);
    expect(await claimed(await worker())).toEqual(['b']);
  });

  test('a cancel of its workflow ends the others, and asks whoever claims it', async () => {
    const id = await insertWorkflow(queue.admin, [{ step: 'a' }, { step: 'b' }]);
    const me = await worker();
    const person = await lockStep(id, 'a');
    await queue.admin.rows('select from taskq.cancel_workflow($1)', id);
    const [task] = await claimSteps(me);
    expect(await statuses(id)).toEqual({ a: 'released', b: 'cancelled' });
    await queue.admin.rows(
      "update taskq.workflow_asks set due_at = due_at - interval '1 s' where due_at > clock_timestamp()",
    );
    expect(await claimed(me)).toEqual([]);
    expect(await me.heartbeat([task!])).toMatchObject([{ answer: 'renewed', cancel_requested: true }]);
    await person.rows('commit');
    expect(await settleAll(me, [task!], 'cancelled')).toMatchObject([{ answer: 'recorded' }]);
    expect(await claimed(me)).toEqual([]);
    expect(await statuses(id)).toEqual({ a: 'cancelled', b: 'cancelled' });
    expect(await workflow(id)).toMatchObject({ state: 'cancelled' });
    await expectSettled(id);
  });
});
