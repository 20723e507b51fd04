import { setTimeout as sleep } from 'node:timers/promises';
import { witness } from './_witness.mjs';

/** Leaves an uncaught error behind and continues for `ms`, whatever its signal does. */
export default async function stray({ how, ms = 0 }, ctx) {
  await witness(ctx, 'start', how);
  if (how === 'rejection') void Promise.reject(new Error('a stray rejection'));
  // It cannot be converted to text.
  else if (how === 'object') void Promise.reject(Object.create(null));
  else
    setTimeout(() => {
      throw new Error('a throw in a timer');
    }, 1);
  await sleep(ms);
  return 'all is well';
}
