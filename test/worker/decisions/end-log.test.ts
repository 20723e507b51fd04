import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { outcomeOf } from '../../../src/domain/outcome.ts';
import type { EndedTask } from '../../../src/worker/lease/held-task.ts';
import type { EventLog } from '../../../src/worker/log/events.ts';
import { EndLog } from '../../../src/worker/settle/end-log.ts';

const lines: string[] = [];
const events: EventLog = {
  isDebugEnabled: false,
  write() {},
  event(name, fields) {
    if (name === 'result.not_stored')
      lines.push([name, ...Object.values(fields ?? {}).slice(0, 2)].join(' '));
  },
};
let ends: EndLog;

beforeEach(() => {
  vi.useFakeTimers();
  lines.length = 0;
  ends = new EndLog(events);
});
afterEach(() => vi.useRealTimers());

/** A task that returned what no JSON text can hold. */
function returnCycle(id: string, type: string): void {
  const cycle: Record<string, unknown> = {};
  cycle.self = cycle;
  const task = { id, type, queue: 'default', attempts: 0 };
  const held = { task, outcome: outcomeOf({ kind: 'returned', value: cycle }), ranMs: 1 };
  ends.settled(held as EndedTask, { answer: 'recorded', consequence: null });
}

test('a result that cannot be stored is logged once a minute for each type, and every task is counted', () => {
  for (const id of ['1', '2', '3']) returnCycle(id, 'mail');
  returnCycle('4', 'report');
  expect(lines).toEqual(['result.not_stored 1 mail', 'result.not_stored 4 report']);
  vi.advanceTimersByTime(59_999);
  returnCycle('5', 'mail');
  expect(lines.length).toBe(2);
  vi.advanceTimersByTime(1);
  for (const id of ['6', '7']) returnCycle(id, 'mail');
  expect(lines.slice(2)).toEqual(['result.not_stored 6 mail']);
  expect(ends.counts.total.completed).toBe(7);
});
