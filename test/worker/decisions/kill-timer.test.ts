import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Attempt, type AttemptTask } from '../../../src/worker/attempt/attempt.ts';
import type { AbortReason } from '../../../src/worker/handlers/handler.ts';
import { KillTimer } from '../../../src/worker/isolation/kill-timer.ts';

const KILL_AFTER_MS = 5000;

let kills: number;
let timer: KillTimer;
let attempt: Attempt;

beforeEach(() => {
  vi.useFakeTimers();
  kills = 0;
  timer = new KillTimer(KILL_AFTER_MS, () => (kills += 1));
  const about = { id: '1', leaseNo: 1, type: 'work', queue: 'default', payload: '{}' };
  const task: AttemptTask = { ...about, attempts: 0, traceparent: null, tick: null, workflow: null };
  attempt = new Attempt(task, null, 'process');
  attempt.onAbort = (reason) => timer.start(reason);
});
afterEach(() => {
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

test.each<AbortReason>(['timeout', 'cancelled'])(
  'after a %s abort the process has until killAfter',
  (reason) => {
    attempt.abort(reason);
    vi.advanceTimersByTime(KILL_AFTER_MS - 1);
    expect(kills).toBe(0);
    vi.advanceTimersByTime(1);
    expect(kills).toBe(1);
  },
);

test.each<AbortReason>(['lost', 'shutdown'])('after a %s abort the process is killed at once', (reason) => {
  attempt.abort(reason);
  vi.advanceTimersByTime(1);
  expect(kills).toBe(1);
});

test.each<AbortReason>(['timeout', 'cancelled'])(
  'a lease lost after a %s abort has the process killed at once, only once',
  (reason) => {
    attempt.abort(reason);
    vi.advanceTimersByTime(1000);
    attempt.abort('lost');
    attempt.abort('lost');
    vi.advanceTimersByTime(1);
    expect(kills).toBe(1);
    vi.advanceTimersByTime(KILL_AFTER_MS);
    expect(kills).toBe(1);
  },
);

test('a further reason does not prolong the wait', () => {
  attempt.abort('timeout');
  vi.advanceTimersByTime(KILL_AFTER_MS - 1);
  timer.start('cancelled');
  vi.advanceTimersByTime(1);
  expect(kills).toBe(1);
});

test('a process that has ended in time is not killed', () => {
  attempt.abort('cancelled');
  timer.clear();
  vi.advanceTimersByTime(KILL_AFTER_MS);
  expect(kills).toBe(0);
});
