import { defineHandler, Retry } from 'taskq';

/** Succeeds at the third attempt. */
export default defineHandler<{ cents: number }>({
  backoff: { kind: 'fixed', base: '20ms' },
  maxAttempts: 5,
  run({ cents }, ctx) {
    if (ctx.attempt === 1) throw new TypeError('the bank is closed');
    if (ctx.attempt === 2) throw new Retry({ delay: 10, message: 'the bank opens' });
    return { cents, attempt: ctx.attempt };
  },
});
