import { expect, test } from 'vitest';
import type { ClaimedTask } from '../../../src/domain/task.ts';
import { HeldBack } from '../../../src/worker/execute/held-back.ts';
import type { HeldState, HeldTask } from '../../../src/worker/lease/held-task.ts';

function held(state: HeldState = 'reporting') {
  return { state } as { state: HeldState } & HeldTask;
}

function task(type: string, groupKey: string | null = null, queue = 'default'): ClaimedTask {
  return { type, groupKey, queue } as ClaimedTask;
}

const ANN = { queue: 'default', groupKey: 'ann' };

test('what an outcome stops does not start: a type, or a group of its queue', () => {
  const back = new HeldBack();
  back.stop(held(), { type: 'fragile' }, 0);
  back.stop(held(), ANN, 0);
  expect(back.holds(task('fragile', 'bob'), 1)).toBe(true);
  expect(back.holds(task('other', 'ann'), 1)).toBe(true);
  expect(back.holds(task('other', 'ann', 'mail'), 1)).toBe(false);
  expect(back.holds(task('other'), 1)).toBe(false);
});

test('it waits until the outcome has its answer, and is given back then', () => {
  const back = new HeldBack();
  const cause = held();
  back.stop(cause, ANN, 0);
  expect(back.isOver(task('other', 'ann'))).toBe(false);
  cause.state = 'gone';
  expect(back.isOver(task('other', 'ann'))).toBe(true);
  expect(back.isOver(task('other', 'bob'))).toBe(false);
});

test('a claim that was sent after the answer ends it, and no earlier one', () => {
  const back = new HeldBack();
  const cause = held();
  back.stop(cause, ANN, 0);
  back.known();
  expect(back.holds(task('other', 'ann'), 1)).toBe(true);
  cause.state = 'gone';
  back.known();
  expect(back.holds(task('other', 'ann'), 1)).toBe(false);
});

test('of several outcomes that stop the same, one is enough until it has its answer', () => {
  const back = new HeldBack();
  const [first, second, third] = [held(), held(), held()];
  back.stop(first, ANN, 0);
  back.stop(second, ANN, 0);
  expect([first, second].map((cause) => back.isCause(cause))).toEqual([true, false]);
  first.state = 'gone';
  back.stop(third, ANN, 0);
  expect(back.isCause(third)).toBe(true);
});

test('it ends by itself where the outcome cannot be recorded', () => {
  const back = new HeldBack();
  back.stop(held(), ANN, 0);
  expect([4999, 5000].map((now) => back.holds(task('other', 'ann'), now))).toEqual([true, false]);
});
