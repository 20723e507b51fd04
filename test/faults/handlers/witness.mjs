// Records each run. May enqueue tasks with its end.
import { recordRun } from './_record.mjs';

export default async function (payload, ctx) {
  await recordRun(ctx, payload.ms);
  for (let n = 1; n <= (payload.follow ?? 0); n++)
    await ctx.enqueue('witness', { ms: 1, n }, payload.keyed ? { key: `${ctx.id} ${n}` } : {});
  if (payload.shared) await ctx.enqueue('witness', { ms: 1 }, { key: payload.shared });
  if (payload.fails && ctx.attempt === 1) throw new Error('as asked');
  return null;
}
