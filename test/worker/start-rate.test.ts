import { expect, test } from 'vitest';
import { StartRate } from '../../src/worker/execute/start-rate.ts';

/** A worker that has been answered `claims` claims, each after it started this many tasks at this interval. */
function after(
  claims: number,
  starts: number,
  { everyMs = 0.01, idleMs = 0, waiting = 0 },
  rate = new StartRate(),
) {
  let now = 0;
  rate.refilled(0, now);
  for (let claim = 0; claim < claims; claim++) {
    for (let start = 0; start < starts; start++) {
      now += everyMs;
      rate.started(now);
    }
    now += idleMs;
    rate.refilled(waiting, now);
  }
  return rate;
}

test('a fast worker starts twice as many soon after each claim', () => {
  expect(new StartRate().soon).toBe(64);
  expect([1, 2, 5].map((claims) => after(claims, 24, {}).soon)).toEqual([128, 256, 2048]);
});

test('a slow worker starts as many soon as it did in a fifth of a second', () => {
  expect(after(1, 200, { everyMs: 2 }).soon).toBe(100);
  expect(after(9, 200, { everyMs: 2 }).soon).toBe(100);
});

test('one that becomes slow is noticed at the next claim, and one that becomes fast again soon', () => {
  const rate = after(9, 24, {});
  expect(after(1, 200, { everyMs: 2 }, rate).soon).toBe(100);
  expect(after(4, 24, {}, rate).soon).toBe(1600);
});

test('the time that a claim takes counts only while tasks wait that could start', () => {
  expect(after(9, 200, { everyMs: 0.125, idleMs: 1000 }).soon).toBe(1600);
  expect(after(9, 200, { everyMs: 0.125, idleMs: 375, waiting: 1 }).soon).toBe(100);
});

test('neither a claim that brought nothing nor few starts say that a worker is slow', () => {
  const rate = after(9, 24, {});
  const { soon } = rate;
  rate.refilled(0, 10_000);
  rate.refilled(0, 20_000);
  expect(rate.soon).toBe(soon);
  expect(after(1, 1, { everyMs: 5000 }).soon).toBe(64);
});
