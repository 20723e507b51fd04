import { spawn } from 'node:child_process';
import { witness } from './_witness.mjs';

/** Keeps its thread busy forever, in a child process that has started a process of its own. */
async function spin(_payload, ctx) {
  await witness(ctx, 'started', spawn('sleep', ['3600'], { stdio: 'ignore' }).pid);
  for (;;);
}

export default { isolation: 'process', run: spin };
