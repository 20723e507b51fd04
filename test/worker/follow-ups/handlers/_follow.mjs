import { Again, Cancel, Dead, Retry, Snooze } from 'taskq';
import { recorded, witness } from '../../handlers/_witness.mjs';

const ENDS = {
  return: () => 'done',
  again: () => new Again({ payload: {}, delay: '1h' }),
  'thrown again': () => {
    throw new Again({ payload: {}, delay: '1h' });
  },
  throw: () => {
    throw new Error('no');
  },
  retry: () => {
    throw new Retry({ delay: '1h' });
  },
  snooze: () => {
    throw new Snooze('1h');
  },
  dead: () => {
    throw new Dead('no');
  },
  cancel: () => {
    throw new Cancel('no');
  },
  exit: () => process.exit(1),
};

/** Enqueues tasks, waits for the event `until`, and ends as `ends` says. Returns the errors of those that are refused. */
export async function follow({ enqueue = [], until, ends = 'return', undone = [], transacts }, ctx) {
  const refused = [];
  for (const task of enqueue) {
    try {
      await ctx.enqueue(...task);
    } catch (error) {
      refused.push(`${error.code} ${error.message}`);
    }
  }
  await witness(ctx, 'enqueued');
  if (until) await recorded(ctx, until, ctx.signal);
  for (const { task, ends: how } of undone) {
    const undoing = ctx.transaction(async () => {
      await ctx.enqueue(...task);
      // Its payload is still being checked when the transaction is rolled back.
      void ctx.enqueue('checked', { to: 'eve' });
      return ENDS[how]();
    });
    await undoing.catch(() => {});
  }
  if (transacts) {
    const value = await ctx.transaction(async (client) => {
      await client.query("insert into witness (task_id, event) values ($1, 'written')", [ctx.id]);
      await ctx.enqueue(...transacts);
      return ENDS[ends]();
    });
    await ctx.enqueue('late', {}).catch(() => witness(ctx, 'too late'));
    return value;
  }
  return refused.length > 0 ? refused : ENDS[ends]();
}
