import { witness } from './_witness.mjs';

/** Keeps its thread busy for `ms`, and listens to nobody meanwhile; for ever without. */
export default async function spin({ ms = Infinity }, ctx) {
  await witness(ctx, 'start');
  const end = performance.now() + ms;
  while (performance.now() < end);
  await witness(ctx, 'end');
  return { pid: process.pid };
}
