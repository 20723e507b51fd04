import { count } from './_witness.mjs';

/** Fails until `up` is recorded for task 0, as if a service that it calls were down. */
export default async function (_payload, ctx) {
  if ((await count({ ...ctx, id: '0' }, 'up')) === 0) throw new Error('the service is down');
}
