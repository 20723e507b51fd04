import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { outcomeOf } from '../../../src/domain/outcome.ts';
import { Attempt, type AttemptIsolation, type AttemptTask } from '../../../src/worker/attempt/attempt.ts';
import { AttemptTimers } from '../../../src/worker/execute/attempt-timers.ts';
import type { StartedTask } from '../../../src/worker/lease/held-task.ts';

const GRACE_MS = 1000;
const DAY_MS = 86_400_000;

let timers: AttemptTimers;
let ignored: StartedTask[];

beforeEach(() => {
  vi.useFakeTimers();
  ignored = [];
  timers = new AttemptTimers(GRACE_MS, (held) => ignored.push(held));
});
afterEach(() => {
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

/** A running task whose timers have started. */
function started(timeoutMs: number | null, isolation: AttemptIsolation = 'inline'): StartedTask {
  const about = { id: '1', leaseNo: 1, type: 'work', queue: 'default', payload: '{}' };
  const task: AttemptTask = { ...about, attempts: 0, traceparent: null, tick: null, workflow: null };
  const held = { attempt: new Attempt(task, timeoutMs, isolation) } as StartedTask;
  timers.start(held);
  return held;
}

const threw = outcomeOf({ kind: 'threw', thrown: new Error('interrupted') });
const returned = outcomeOf({ kind: 'returned', value: 1 });

test('a timeout asks the attempt to end, and after the grace an inline handler is ignoring it', () => {
  const held = started(5000);
  const { signal } = held.attempt;
  vi.advanceTimersByTime(4999);
  expect(signal.aborted).toBe(false);
  vi.advanceTimersByTime(1);
  expect(signal.reason).toBe('timeout');
  vi.advanceTimersByTime(GRACE_MS - 1);
  expect(ignored).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(ignored).toEqual([held]);
  expect(held.attempt.conclude(returned)).toMatchObject({ kind: 'failed', error: { name: 'TimeoutError' } });
});

test('an attempt without a timeout is never asked to end', () => {
  const held = started(null);
  vi.advanceTimersByTime(365 * DAY_MS);
  expect(held.attempt.aborted).toBe(undefined);
});

test('a timeout of more than 24 days, the longest timer, is as long as it says', () => {
  const held = started(60 * DAY_MS);
  vi.advanceTimersByTime(60 * DAY_MS - 1);
  expect(held.attempt.aborted).toBe(undefined);
  vi.advanceTimersByTime(1);
  expect(held.attempt.aborted).toBe('timeout');
  timers.clear(held);
});

test.each(['process', 'fresh process'] as const)(
  'a handler in a %s ignores nothing: it is killed',
  (isolation) => {
    const held = started(5000, isolation);
    vi.advanceTimersByTime(5000 + GRACE_MS);
    expect(held.attempt.aborted).toBe('timeout');
    expect(ignored).toEqual([]);
  },
);

test('the grace begins at the first request, and the first reason counts', () => {
  const held = started(5000);
  timers.askToEnd(held, 'cancelled', 'no longer needed');
  vi.advanceTimersByTime(GRACE_MS / 2);
  timers.askToEnd(held, 'timeout');
  vi.advanceTimersByTime(GRACE_MS / 2);
  expect(ignored).toEqual([held]);
  expect(held.attempt.conclude(threw)).toMatchObject({ kind: 'cancelled', reason: 'no longer needed' });
  timers.clear(held);
});

test('the grace begins again, once, if nothing could run in the meantime', () => {
  const held = started(5000);
  timers.askToEnd(held, 'cancelled');
  const stop = () => {
    const now = performance.now() + 60_000;
    vi.spyOn(performance, 'now').mockReturnValueOnce(now);
  };
  stop();
  vi.advanceTimersByTime(GRACE_MS);
  expect(ignored).toEqual([]);
  vi.advanceTimersByTime(GRACE_MS - 1);
  expect(ignored).toEqual([]);
  stop();
  vi.advanceTimersByTime(1);
  expect(ignored).toEqual([held]);
  timers.clear(held);
});

test('a lost lease outweighs every other reason', () => {
  const held = started(5000);
  timers.askToEnd(held, 'cancelled');
  timers.askToEnd(held, 'lost');
  expect(held.attempt.conclude(returned)).toEqual({ kind: 'lost' });
  timers.clear(held);
});

test('an attempt that has ended has no timers left: neither its timeout nor its grace follows', () => {
  const waits = started(5000);
  const asked = started(5000);
  timers.askToEnd(asked, 'cancelled');
  timers.clear(waits);
  timers.clear(asked);
  vi.advanceTimersByTime(DAY_MS);
  expect(waits.attempt.aborted).toBe(undefined);
  expect(ignored).toEqual([]);
});

test.each([
  ['succeeded all the same', returned, 'completed'],
  ['failed at that', threw, 'given back'],
] as const)('a handler that the shutdown asked to end, and that has %s', (_, outcome, conclusion) => {
  const held = started(null);
  timers.askToEnd(held, 'shutdown');
  expect(held.attempt.conclude(outcome).kind).toBe(conclusion);
  timers.clear(held);
});
