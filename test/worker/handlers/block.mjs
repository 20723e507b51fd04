import { witness } from './_witness.mjs';

const nothing = new Int32Array(new SharedArrayBuffer(4));

/** Blocks its thread for `ms`, counting only the time in which its process is awake. */
export default async function block({ ms }, ctx) {
  await witness(ctx, 'start');
  for (let left = ms; left > 0; left -= 20) Atomics.wait(nothing, 0, 0, 20);
  await witness(ctx, 'end');
}
