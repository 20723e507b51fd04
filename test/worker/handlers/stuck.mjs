import { execFileSync } from 'node:child_process';
import { witness } from './_witness.mjs';

/** Waits in a system call, where no debugger can interrupt it. */
export default async function stuck(_, ctx) {
  await witness(ctx, 'start');
  execFileSync('sleep', ['30']);
}
