import { describe, expect, test } from 'vitest';
import { SilenceWatch } from '../../src/worker/maintain/silence-watch.ts';

const LEASE_MS = 30_000;
const LONG = 1_000_000;
const at = (beatUs: number, workerId = '7', watchedMs = 0) => ({
  ...{ workerId, beatUs, watchedMs },
  leaseMs: LEASE_MS,
  isLate: true,
});

/**
 * Checks every five seconds, each time at the given heartbeat; returns whether the worker counts as silent at each
 * check.
 */
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

test('a worker with a new heartbeat is not, even if its time is before the last one', () => {
  expect(silences([9, 9, 5, 5, 7, 7, 8])).not.toContain(true);
  expect(silences([1, 1, undefined, 1, 1, 1])).not.toContain(true);
});

test('the heartbeat is returned with it, for the database to compare', () => {
  const watch = new SilenceWatch();
  watch.looked([at(1), at(2, '8')], 0);
  watch.looked([at(1), at(3, '8')], 10_000);
  expect(watch.silent(15_000, LONG)).toEqual({ 7: 1 });
  expect(watch.silent(25_000, LONG)).toEqual({ 7: 1, 8: 3 });
});

test('after an interruption no worker is for two thirds of a lease: the others come back as well', () => {
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

describe('watchers of whom none lives for long', () => {
  test('go on one after the other, and know after a whole lease together', () => {
    let stored = 0;
    const lives = [1, 2, 3, 4, 5, 6, 7, 8].map(() => {
      const watch = new SilenceWatch();
      watch.looked([at(1, '7', stored)], 0);
      stored = watch.watching(4000, 4000)['7']!.watched_ms;
      return '7' in watch.silent(4000, 4000);
    });
    expect(lives).toEqual([false, false, false, false, false, false, false, true]);
    expect(stored).toBe(32_000);
  });

  test('who watch at the same time count it once', () => {
    const [one, other] = [new SilenceWatch(), new SilenceWatch()];
    for (const watch of [one, other]) watch.looked([at(1)], 0);
    other.looked([at(1, '7', one.watching(5000, LONG)['7']!.watched_ms)], 5000);
    expect(other.watching(6000, LONG)).toEqual({ 7: { beat_us: 1, watched_ms: 6000 } });
  });

  test('begin anew with each heartbeat, and count only what their own succeeded for', () => {
    const watch = new SilenceWatch();
    watch.looked([at(1, '7', 29_000)], 0);
    expect(watch.watching(10_000, 500)).toEqual({ 7: { beat_us: 1, watched_ms: 29_500 } });
    watch.looked([at(2)], 10_000);
    expect(watch.watching(15_000, LONG)).toEqual({ 7: { beat_us: 2, watched_ms: 5000 } });
    expect(watch.silent(15_000, LONG)).toEqual({});
  });

  test('write down nothing of one that is as old as the heartbeat of a live one', () => {
    const watch = new SilenceWatch();
    watch.looked([{ ...at(1), isLate: false }], 0);
    expect(watch.watching(5000, LONG)).toEqual({});
  });
});
