import { expect, test } from 'vitest';
import { Throttle } from '../../src/lib/throttle.ts';

test('work is due again after a multiple of its cost, and at least after the given interval', () => {
  const throttle = new Throttle(20);
  expect(throttle.isDue(0, 1000)).toBe(true);
  throttle.done(100, 0);
  expect(throttle.isDue(1999)).toBe(false);
  expect(throttle.isDue(2000)).toBe(true);
  expect(throttle.isDue(2000, 3000)).toBe(false);
  expect(throttle.isDue(3000, 3000)).toBe(true);
});

test('a first time that is slow for being the first puts off the second one little', () => {
  const throttle = new Throttle(100, 25);
  throttle.done(130, 0);
  expect(throttle.pauseMs).toBe(2500);
  throttle.done(130, 2500);
  expect(throttle.pauseMs).toBe(13_000);
});

test('one slow run, on a machine that is busy for a moment, is paid for after the next one', () => {
  const throttle = new Throttle(100);
  const pauses = [5, 1000, 5, 5, 900, 900].map((costMs) => {
    throttle.done(costMs, 0);
    return throttle.pauseMs;
  });
  expect(pauses).toEqual([500, 500, 100_000, 500, 500, 179_500]);
});

test('runs never take more than their share, also when their costs alternate', () => {
  const throttle = new Throttle(100);
  let now = 0;
  let busyMs = 0;
  for (let n = 0; now < 3_600_000; n++) {
    const costMs = n % 2 === 0 ? 1 : 1000;
    now += costMs;
    busyMs += costMs;
    throttle.done(costMs, now);
    now += throttle.pauseMs;
  }
  expect(busyMs / now).toBeLessThan(0.0101);
});

test('what failed is paid for as if it had been done, more with each failure, within bounds', () => {
  const throttle = new Throttle(10);
  const pauses: number[] = [];
  for (let n = 0; n < 6; n++) {
    throttle.failed(100, 0);
    pauses.push(throttle.pauseMs);
  }
  expect(pauses).toEqual([1000, 2000, 4000, 8000, 8000, 8000]);
  expect(throttle.hasFailed).toBe(true);
  throttle.done(100, 0);
  expect(throttle.pauseMs).toBe(1000);
  expect(throttle.hasFailed).toBe(false);
});

test('what is cut short counts no less than it took before', () => {
  const throttle = new Throttle(10);
  throttle.done(500, 0);
  throttle.failed(80, 0);
  expect(throttle.pauseMs).toBe(5000);
});

test('it is costly when it takes its time twice, the first time, or fails; unknown before', () => {
  const throttle = new Throttle(1);
  expect([throttle.isCheap, throttle.isCostly]).toEqual([false, false]);
  throttle.done(200, 0);
  expect([throttle.isCheap, throttle.isCostly]).toEqual([false, true]);
  throttle.done(1, 0);
  expect([throttle.isCheap, throttle.isCostly]).toEqual([true, false]);
  throttle.done(200, 0);
  expect(throttle.isCheap).toBe(true);
  throttle.done(200, 0);
  expect(throttle.isCheap).toBe(false);
  throttle.done(1, 0);
  throttle.failed(1, 0);
  expect([throttle.isCheap, throttle.isCostly]).toEqual([false, true]);
});

test('it can be made due, and what another did can count for it', () => {
  const throttle = new Throttle(10);
  throttle.doneElsewhere(1000);
  expect(throttle.isDue(1400, 500)).toBe(false);
  expect(throttle.isCheap).toBe(false);
  throttle.done(1000, 1000);
  throttle.makeDue();
  expect(throttle.isDue(1001, 500)).toBe(true);
});

test('a run is measured, and counts as failed if it throws', async () => {
  const throttle = new Throttle(100);
  expect(await throttle.run(async () => 'found')).toBe('found');
  expect(throttle).toMatchObject({ isCheap: true, hasFailed: false });
  const failing = throttle.run(async () => {
    throw new Error('refused');
  });
  await expect(failing).rejects.toThrow('refused');
  expect(throttle.hasFailed).toBe(true);
});
