import { getEventListeners } from 'node:events';
import { expect, test } from 'vitest';
import { Wakeup } from '../../src/lib/wakeup.ts';

const never = new AbortController().signal;

test('a trigger wakes everyone who waits', async () => {
  const wakeup = new Wakeup();
  const waits = [wakeup.wait(60_000, never), wakeup.wait(60_000, never)];
  wakeup.trigger();
  expect(await Promise.all(waits)).toEqual(['triggered', 'triggered']);
});

test('triggers without a waiter are remembered as one', async () => {
  const wakeup = new Wakeup();
  wakeup.trigger();
  wakeup.trigger();
  expect(await wakeup.wait(60_000, never)).toBe('triggered');
  expect(await wakeup.wait(5, never)).toBe('elapsed');
});

test('a trigger that woke someone is not remembered', async () => {
  const wakeup = new Wakeup();
  const wait = wakeup.wait(60_000, never);
  wakeup.trigger();
  await wait;
  expect(await wakeup.wait(5, never)).toBe('elapsed');
});

test('a wait ends when the signal aborts, and at once when it has', async () => {
  const wakeup = new Wakeup();
  const stop = new AbortController();
  const wait = wakeup.wait(60_000, stop.signal);
  stop.abort();
  expect(await wait).toBe('aborted');
  wakeup.trigger();
  expect(await wakeup.wait(60_000, stop.signal)).toBe('aborted');
  expect(await wakeup.wait(60_000, never)).toBe('triggered');
});

test('a wait of years does not end at once', async () => {
  const wakeup = new Wakeup();
  const wait = wakeup.wait(Number.POSITIVE_INFINITY, never);
  setTimeout(() => wakeup.trigger(), 20);
  expect(await wait).toBe('triggered');
});

test('a thousand waits leave no listener on a signal that lives on', async () => {
  const wakeup = new Wakeup();
  const { signal } = new AbortController();
  for (let wait = 0; wait < 1000; wait += 1) {
    if (wait % 2 === 0) wakeup.trigger();
    await wakeup.wait(0, signal);
  }
  expect(getEventListeners(signal, 'abort')).toHaveLength(0);
});
