import { defineHandler } from 'taskq';

/** Fails `payload.failures` times, then succeeds: shows retries at work. */
export default defineHandler<{ failures: number }>({
  maxAttempts: 5,
  backoff: { kind: 'exponential', base: '200ms', max: '2s' },
  run({ failures }, ctx) {
    if (ctx.attempt <= failures) throw new Error(`attempt ${ctx.attempt} of ${failures} that fail`);
    return { attempts: ctx.attempt };
  },
});
