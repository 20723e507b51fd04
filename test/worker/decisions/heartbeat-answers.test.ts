import { expect, test } from 'vitest';
import type { HeartbeatAnswer } from '../../../src/queue/protocol/heartbeat.ts';
import { cancelsAmong, newsAmong } from '../../../src/worker/heartbeat/heartbeat-answers.ts';
import type { LeaseRow } from '../../../src/worker/lease/lease-table.ts';

const LEASE = { id: '7', leaseNo: 3, slot: 2 };
const ROWS: readonly LeaseRow[] = [{ ...LEASE, startedAt: 0, deadlineAt: 0, isIsolated: false }];

function answerOf(changes: Partial<HeartbeatAnswer>): HeartbeatAnswer {
  const renewed = { answer: 'renewed', refusal: null, cancelRequested: false, cancelReason: null } as const;
  return { id: LEASE.id, leaseNo: LEASE.leaseNo, ...renewed, ...changes };
}

test('a renewed lease and a locked one are no news', () => {
  expect(newsAmong([answerOf({}), answerOf({ answer: 'busy' })], ROWS)).toEqual([]);
});

test('a lost lease, a request to cancel and a refusal are reported with the slot of the lease', () => {
  expect(newsAmong([answerOf({ answer: 'lost' })], ROWS)).toEqual([{ kind: 'lost', lease: LEASE }]);
  const cancelled = answerOf({ cancelRequested: true, cancelReason: 'no longer needed' });
  expect(newsAmong([cancelled], ROWS)).toEqual([
    { kind: 'cancel', lease: LEASE, reason: 'no longer needed' },
  ]);
  const refused = answerOf({ answer: 'busy', refusal: 'not now (SQLSTATE P0001)', cancelRequested: true });
  expect(newsAmong([refused], ROWS)).toEqual([
    { kind: 'cancel', lease: LEASE, reason: null },
    { kind: 'unrenewed', lease: LEASE, refusal: 'not now (SQLSTATE P0001)' },
  ]);
});

test('a lost lease is not cancelled too', () => {
  const both = answerOf({ answer: 'lost', cancelRequested: true });
  expect(newsAmong([both], ROWS)).toEqual([{ kind: 'lost', lease: LEASE }]);
});

test('an answer about another lease of the same task is no news', () => {
  expect(newsAmong([answerOf({ leaseNo: 4, answer: 'lost' })], ROWS)).toEqual([]);
});

test('a request to cancel keeps the time of its arrival while it is answered, and goes with it', () => {
  const request = answerOf({ cancelRequested: true, cancelReason: 'why' });
  const first = cancelsAmong([request], new Map(), 10);
  expect([...first.values()]).toEqual([{ receivedAt: 10, reason: 'why' }]);
  const second = cancelsAmong([request, answerOf({ id: '8', cancelRequested: true })], first, 20);
  expect([...second.values()].map(({ receivedAt }) => receivedAt)).toEqual([10, 20]);
  expect(cancelsAmong([answerOf({})], second, 30).size).toBe(0);
});
