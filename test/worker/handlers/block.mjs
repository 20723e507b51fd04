import { existsSync } from 'node:fs';
import { witness } from './_witness.mjs';

/** Few steps: on a busy machine each takes longer. */
const STEP_MS = 200;

const nothing = new Int32Array(new SharedArrayBuffer(4));

/** Blocks its thread for `ms`, counting only the time in which its process is awake, or until there is a `file`. */
export default async function block({ ms, file }, ctx) {
  await witness(ctx, 'start');
  ctx.log.info('blocks');
  const isOver = (waitedMs) => (file === undefined ? waitedMs >= ms : existsSync(file));
  for (let waitedMs = 0; !isOver(waitedMs); waitedMs += STEP_MS) Atomics.wait(nothing, 0, 0, STEP_MS);
  await witness(ctx, 'end');
}
