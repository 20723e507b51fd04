import { describe, expect, test } from 'vitest';
import { runWorkflow } from './started.ts';
import { claimSteps, settleAll, useWorkflows } from './workflows.ts';

const { queue, worker, claimed, statuses, workflow, expectSettled } = useWorkflows();

const ADD = `select id from taskq.enqueue('work', '{}', $1)`;

describe.each(['repeatable read', 'serializable'])('an application whose transactions are %s', (level) => {
  /** Begins a transaction that sees no later commit. */
  async function application() {
    const session = await queue.session();
    await session.rows(`begin isolation level ${level}`);
    await session.rows('select count(*) from taskq.all_tasks');
    return session;
  }

  test('starts a workflow, and adds a step after one that ends meanwhile', async () => {
    const app = await application();
    const { id } = await runWorkflow(app, [{ step: 'a' }, { step: 'b', after: ['a'] }], { open: true });
    const me = await worker();
    expect(await claimed(me)).toEqual([]);
    await app.rows('commit');
    const a = await claimSteps(me);
    const adder = await application();
    await settleAll(me, a);
    await adder.rows(ADD, { workflow: id, step: 'c', after: ['a'] });
    expect(await claimed(me)).toEqual(['b']);
    await adder.rows('commit');
    expect(await claimed(me)).toEqual(['c']);
    await expectSettled(id);
  });

  test('is refused what is based on an old state of a workflow, and may repeat it', async () => {
    const { id } = await runWorkflow(queue.admin, [{ step: 'a' }, { step: 'b', after: ['a'] }], {
      open: true,
    });
    const me = await worker();
    const a = await claimSteps(me);
    const calls = ['close', 'cancel', 'retry'].map((verb) => `select taskq.${verb}_workflow($1)`);
    const late = await Promise.all(calls.map(() => application()));
    await settleAll(me, a);
    const b = await claimSteps(me);
    const before = await statuses(id);
    for (const [index, text] of calls.entries()) {
      await expect(late[index]!.rows(text, id), text).rejects.toMatchObject({ code: '40001' });
      await late[index]!.rows('rollback');
    }
    expect(await statuses(id)).toEqual(before);
    expect(await workflow(id)).toMatchObject({ state: 'open', cancel_requested_at: null });

    for (const text of calls) {
      const again = await application();
      await again.rows(text, id);
      await again.rows('commit');
    }
    await settleAll(me, b);
    await me.claim();
    expect(await workflow(id)).toMatchObject({ state: 'completed', live_steps: 0 });
    await expectSettled(id);
  });

  test('adds a step to a workflow that has moved on, none to one that was closed, and one that was cancelled cancels it', async () => {
    const me = await worker();
    // One application at a time: two that are serializable may be refused because of each other.
    const lateAdder = async (meanwhile?: string) => {
      const { id } = await runWorkflow(queue.admin, [{ step: 'a' }], { open: true });
      const tasks = await claimSteps(me);
      const adder = await application();
      await settleAll(me, tasks);
      await me.claim();
      if (meanwhile !== undefined) await queue.admin.rows(`select taskq.${meanwhile}($1)`, id);
      await me.claim();
      return { id, adder, added: adder.rows(ADD, { workflow: id, step: 'b', after: ['a'] }) };
    };
    const moved = await lateAdder();
    await moved.added;
    await moved.adder.rows('commit');
    const b = await claimSteps(me);
    expect(b.map(({ step }) => step)).toEqual(['b']);
    await settleAll(me, b);

    const closed = await lateAdder('close_workflow');
    await expect(closed.added).rejects.toMatchObject({ code: '40001' });
    await closed.adder.rows('rollback');
    expect(await statuses(closed.id)).toEqual({ a: 'completed' });

    const cancelled = await lateAdder('cancel_workflow');
    await cancelled.added;
    await cancelled.adder.rows('commit');
    expect(await claimed(me)).toEqual([]);
    expect(await statuses(cancelled.id)).toEqual({ a: 'completed', b: 'cancelled' });
    expect(await workflow(cancelled.id)).toMatchObject({ state: 'cancelled', live_steps: 0 });
    await expectSettled(cancelled.id);
  });

  test('brings back the steps of a workflow whose outcomes come meanwhile, and repeats its cancel', async () => {
    const { id } = await runWorkflow(queue.admin, [
      { step: 'a' },
      { step: 'b' },
      { step: 'c', after: ['a', 'b'] },
    ]);
    const me = await worker();
    const [a, b] = await claimSteps(me);
    await settleAll(me, [a!], 'dead');
    await me.claim();
    const app = await application();
    await settleAll(me, [b!]);
    await app.rows('select from taskq.retry_workflow($1)', id);
    await app.rows('commit');
    const again = await claimSteps(me);
    expect(again.map(({ step }) => step)).toEqual(['a']);
    await settleAll(me, again);
    const c = await claimSteps(me);
    expect(c.map(({ step }) => step)).toEqual(['c']);
    await expectSettled(id);

    const canceller = await application();
    await settleAll(me, c);
    const cancel = 'select from taskq.cancel_workflow($1)';
    await expect(canceller.rows(cancel, id)).rejects.toMatchObject({ code: '40001' });
    await canceller.rows('rollback');
    const repeated = await application();
    await repeated.rows(cancel, id);
    await repeated.rows('commit');
    expect(await statuses(id)).toEqual({ a: 'completed', b: 'completed', c: 'completed' });
    expect(await workflow(id)).toMatchObject({ state: 'cancelled', live_steps: 0, waiting_steps: 0 });
    await expectSettled(id);
  });
});
