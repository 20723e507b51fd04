import { setTimeout as sleep } from 'node:timers/promises';
import { Dead, Snooze } from 'taskq';
import { recorded, witness } from './_witness.mjs';

/**
 * Waits `ms`, or until the event `until` is recorded, then ends as `ends` says. When its signal aborts it records that
 * and throws, unless it is `deaf`; its log shows the abort in any case. Each of these may be an array: one element per
 * run, the last for all later runs.
 */
export async function wait(payload, ctx) {
  // Log it at once: a row may come too late for a worker that is ending.
  ctx.signal.addEventListener('abort', () => ctx.log.info('aborted', { reason: ctx.signal.reason }));
  const run = await witness(ctx, 'start');
  const { ms, until, deaf, ends } = forRun(payload, run);
  const { signal } = deaf ? new AbortController() : ctx;
  try {
    if (ms) await sleep(ms, undefined, { signal });
    if (until) await recorded(ctx, until, signal);
  } catch {
    await witness(ctx, 'aborted', ctx.signal.reason);
    throw new Error(`interrupted: ${ctx.signal.reason}`);
  }
  await witness(ctx, 'end', run);
  if (ends === 'throw') throw new Error(`run ${run} failed`);
  if (ends === 'snooze') throw new Snooze('1ms');
  if (ends === 'hold') throw new Snooze('1h', { hold: 'group' });
  if (ends === 'die') throw new Dead('no way');
  return { run, pid: process.pid };
}

function forRun(payload, run) {
  const entries = Object.entries(payload).map(([key, value]) => [
    key,
    Array.isArray(value) ? value[Math.min(run, value.length) - 1] : value,
  ]);
  return Object.fromEntries(entries);
}
