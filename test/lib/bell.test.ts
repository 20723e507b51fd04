import { getEventListeners } from 'node:events';
import { expect, test } from 'vitest';
import { Bell } from '../../src/lib/bell.ts';

const never = new AbortController().signal;

test('a ring wakes everyone who waits', async () => {
  const bell = new Bell();
  const waits = [bell.wait(60_000, never), bell.wait(60_000, never)];
  bell.ring();
  expect(await Promise.all(waits)).toEqual(['rung', 'rung']);
});

test('rings without a waiter are remembered as one', async () => {
  const bell = new Bell();
  bell.ring();
  bell.ring();
  expect(await bell.wait(60_000, never)).toBe('rung');
  expect(await bell.wait(5, never)).toBe('elapsed');
});

test('a ring that woke someone is not remembered', async () => {
  const bell = new Bell();
  const wait = bell.wait(60_000, never);
  bell.ring();
  await wait;
  expect(await bell.wait(5, never)).toBe('elapsed');
});

test('a wait ends when the signal aborts, and at once when it has', async () => {
  const bell = new Bell();
  const stop = new AbortController();
  const wait = bell.wait(60_000, stop.signal);
  stop.abort();
  expect(await wait).toBe('aborted');
  bell.ring();
  expect(await bell.wait(60_000, stop.signal)).toBe('aborted');
  expect(await bell.wait(60_000, never)).toBe('rung');
});

test('a wait of years does not end at once', async () => {
  const bell = new Bell();
  const wait = bell.wait(Number.POSITIVE_INFINITY, never);
  setTimeout(() => bell.ring(), 20);
  expect(await wait).toBe('rung');
});

test('a thousand waits leave no listener on a signal that lives on', async () => {
  const bell = new Bell();
  const { signal } = new AbortController();
  for (let wait = 0; wait < 1000; wait += 1) {
    if (wait % 2 === 0) bell.ring();
    await bell.wait(0, signal);
  }
  expect(getEventListeners(signal, 'abort')).toHaveLength(0);
});
