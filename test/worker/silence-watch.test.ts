import { expect, test } from 'vitest';
import { SilenceWatch } from '../../src/worker/silence-watch.ts';

const LEASE_MS = 30_000;
const LONG = 1_000_000;
const at = (beatUs: number, workerId = '7') => ({ workerId, beatUs, leaseMs: LEASE_MS });

/** Looks every five seconds, at each at that heartbeat, and says when the worker is taken for silent. */
function silences(beats: readonly (number | undefined)[], steadyMs = LONG): boolean[] {
  const watch = new SilenceWatch();
  return beats.map((beatUs, index) => {
    const now = 5000 * index;
    const isSilent = '7' in watch.silent(now, steadyMs);
    watch.looked(beatUs === undefined ? [] : [at(beatUs)], now);
    return isSilent;
  });
}

test('a worker is silent that stood at the same heartbeat for half a lease', () => {
  expect(silences([1, 1, 1, 1, 1])).toEqual([false, false, false, true, true]);
  expect(new SilenceWatch().silent(LONG, LONG)).toEqual({});
});

test('whoever moves is not, be it by a heartbeat that the clock has before the last one', () => {
  expect(silences([9, 9, 5, 5, 7, 7, 8])).not.toContain(true);
  expect(silences([1, 1, undefined, 1, 1, 1])).not.toContain(true);
});

test('the heartbeat is told with it, for the database to compare', () => {
  const watch = new SilenceWatch();
  watch.looked([at(1), at(2, '8')], 0);
  watch.looked([at(1), at(3, '8')], 10_000);
  expect(watch.silent(15_000, LONG)).toEqual({ 7: 1 });
  expect(watch.silent(25_000, LONG)).toEqual({ 7: 1, 8: 3 });
});

test('after an interruption nobody is for two thirds of a lease: the others come back as well', () => {
  expect(silences([1, 1, 1, 1, 1], (2 * LEASE_MS) / 3 - 1)).not.toContain(true);
  expect(silences([1, 1, 1, 1, 1], (2 * LEASE_MS) / 3)).toContain(true);
});

test('what happened while no look succeeded is not known', () => {
  const watch = new SilenceWatch();
  watch.looked([at(1)], 0);
  watch.forget();
  watch.looked([at(1)], 20_000);
  expect(watch.silent(20_000, LONG)).toEqual({});
  expect(watch.silent(35_000, LONG)).toEqual({ 7: 1 });
});
