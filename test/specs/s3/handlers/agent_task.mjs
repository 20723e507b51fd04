import { witness } from '../../application.mjs';

export default async ({ agent }, ctx) => {
  await witness(ctx, 'begun');
  await witness(ctx, 'done');
  return { agent, step: ctx.workflow.step, parents: Object.keys(await ctx.parents()) };
};
