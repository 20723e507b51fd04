import { expect, test } from 'vitest';
import { Spacing } from '../../src/lib/spacing.ts';

test('work is due again after a multiple of its cost, and at least after the given interval', () => {
  const spacing = new Spacing(20);
  expect(spacing.isDue(0, 1000)).toBe(true);
  spacing.done(100, 0);
  expect(spacing.isDue(1999)).toBe(false);
  expect(spacing.isDue(2000)).toBe(true);
  expect(spacing.isDue(2000, 3000)).toBe(false);
  expect(spacing.isDue(3000, 3000)).toBe(true);
});

test('a first time that is slow for being the first puts off the second one little', () => {
  const spacing = new Spacing(100, 25);
  spacing.done(130, 0);
  expect(spacing.pauseMs).toBe(2500);
  spacing.done(130, 2500);
  expect(spacing.pauseMs).toBe(13_000);
});

test('what failed is paid for as if it had been done, more with each failure, within bounds', () => {
  const spacing = new Spacing(10);
  const pauses: number[] = [];
  for (let n = 0; n < 6; n++) {
    spacing.failed(100, 0);
    pauses.push(spacing.pauseMs);
  }
  expect(pauses).toEqual([1000, 2000, 4000, 8000, 8000, 8000]);
  expect(spacing.hasFailed).toBe(true);
  spacing.done(100, 0);
  expect(spacing.pauseMs).toBe(1000);
  expect(spacing.hasFailed).toBe(false);
});

test('what is cut short counts no less than it took before', () => {
  const spacing = new Spacing(10);
  spacing.done(500, 0);
  spacing.failed(80, 0);
  expect(spacing.pauseMs).toBe(5000);
});

test('it is costly when it takes its time twice, the first time, or fails; unknown before', () => {
  const spacing = new Spacing(1);
  expect([spacing.isCheap, spacing.isCostly]).toEqual([false, false]);
  spacing.done(200, 0);
  expect([spacing.isCheap, spacing.isCostly]).toEqual([false, true]);
  spacing.done(1, 0);
  expect([spacing.isCheap, spacing.isCostly]).toEqual([true, false]);
  spacing.done(200, 0);
  expect(spacing.isCheap).toBe(true);
  spacing.done(200, 0);
  expect(spacing.isCheap).toBe(false);
  spacing.done(1, 0);
  spacing.failed(1, 0);
  expect([spacing.isCheap, spacing.isCostly]).toEqual([false, true]);
});

test('it can be made due, and what another did can count for it', () => {
  const spacing = new Spacing(10);
  spacing.doneElsewhere(1000);
  expect(spacing.isDue(1400, 500)).toBe(false);
  expect(spacing.isCheap).toBe(false);
  spacing.done(1000, 1000);
  spacing.makeDue();
  expect(spacing.isDue(1001, 500)).toBe(true);
});
