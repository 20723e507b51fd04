import { getEventListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { within } from '../../src/lib/within.ts';

const never = new Promise<void>(() => {});

test('it returns whether the work ended in time', async () => {
  expect(await within(60_000, Promise.resolve())).toBe(true);
  expect(await within(5, never)).toBe(false);
});

test('it throws what the work throws, and ignores what it throws later', async () => {
  await expect(within(60_000, Promise.reject(new Error('broken')))).rejects.toThrow('broken');
  const late = sleep(20).then(() => {
    throw new Error('late');
  });
  expect(await within(1, late)).toBe(false);
  await expect(late).rejects.toThrow('late');
});

test('hurry shortens the wait, before it and during it', async () => {
  const hurry = new AbortController();
  const waiting = within(60_000, never, { hurry: hurry.signal, hurriedMs: 5 });
  hurry.abort();
  expect(await waiting).toBe(false);
  expect(await within(60_000, never, { hurry: hurry.signal })).toBe(false);
  expect(await within(60_000, sleep(5), { hurry: hurry.signal, hurriedMs: 60_000 })).toBe(true);
});

test('no limit is one too: a timer cannot be longer than 24 days', async () => {
  expect(await within(Infinity, sleep(20))).toBe(true);
});

test('it leaves no listener on the signal', async () => {
  const { signal } = new AbortController();
  await within(60_000, Promise.resolve(), { hurry: signal });
  await sleep(0);
  expect(getEventListeners(signal, 'abort')).toEqual([]);
});
