// As `witness`; and says whether the run was good, and adds steps to the workflow of its own.
import { recordRun } from './_record.mjs';

export default async (payload, ctx) => {
  const good = !(payload.fails && ctx.attempt <= payload.fails);
  await recordRun(ctx, payload.ms, good);
  for (const step of payload.adds ?? []) await ctx.enqueue('step', { ms: 1 }, step);
  if (!good) throw new Error('as asked');
  return { step: payload.step };
};
