import { describe, expect, test } from 'vitest';
import { leaseKey } from '../../../src/domain/task.ts';
import type { LeaseRow } from '../../../src/worker/lease/lease-table.ts';
import {
  decideUnresponsive,
  patienceWith,
  type Silence,
} from '../../../src/worker/watchdog/decide-unresponsive.ts';

const NOW = 1_000_000;
const GRACE_MS = 500;
/** The time a handler has beyond its timeout and the grace. */
const ALLOWANCE_MS = 2000;
const WITHOUT_DEADLINE_MS = 300_000;

/** A lease of an inline attempt, whose timeout passed `overMs` ago; without `overMs` it has none. */
function running(slot: number, overMs?: number): LeaseRow {
  const deadlineAt = overMs === undefined ? 0 : NOW - overMs;
  return { slot, id: String(slot), leaseNo: 1, startedAt: NOW - 10_000, deadlineAt, isIsolated: false };
}

const waiting = (slot: number): LeaseRow => ({ ...running(slot), startedAt: 0 });
const apart = (slot: number): LeaseRow => ({ ...running(slot, 60_000), isIsolated: true });

function silence(rows: readonly LeaseRow[], more: Partial<Silence> = {}): Silence {
  return { rows, lastEntered: 0, now: NOW, silentMs: 5000, graceMs: GRACE_MS, cancels: new Map(), ...more };
}

const busyWith = (row: LeaseRow) => ({ lease: leaseKey(row), stack: 'at spin' });

const cancelled = (row: LeaseRow, agoMs: number) =>
  new Map([[busyWith(row).lease, { receivedAt: NOW - agoMs, reason: 'a test' }]]);

describe('how long no task can be to blame', () => {
  test.each([
    ['until a timeout, the grace and the allowance are over', [running(1, -100)], 100],
    ['counted from the timeout, be it over', [running(1, 1000)], -1000],
    ['of several attempts the first of them', [running(1, 300), running(2, -300)], -300],
    ['what has not started, or runs elsewhere, has no part in it', [waiting(1), apart(2), running(3, 0)], 0],
  ])('%s', (_, rows, beyondMs) => {
    expect(patienceWith(silence(rows))).toBe(beyondMs + GRACE_MS + ALLOWANCE_MS);
  });

  test('without a timeout, or a task, five minutes of silence', () => {
    for (const rows of [[running(1)], [waiting(1)], []])
      expect(patienceWith(silence(rows))).toBe(WITHOUT_DEADLINE_MS - 5000);
  });

  test('a request to cancel ends it sooner than the timeout', () => {
    const row = running(1, -60_000);
    expect(patienceWith(silence([row], { cancels: cancelled(row, 100) }))).toBe(
      GRACE_MS + ALLOWANCE_MS - 100,
    );
  });
});

describe('a main thread that is known to be busy with an attempt', () => {
  const [guilty, other, next] = [running(1, 10_000), running(2, 20_000), waiting(3)];

  test('has its task time out; all others are given back, whatever was entered last', () => {
    const verdict = decideUnresponsive(silence([guilty, other, next], { lastEntered: 2 }), busyWith(guilty));
    expect(verdict).toEqual({
      kind: 'end',
      blamed: { row: guilty, ended: { kind: 'timedOut', timeoutMs: 0, stack: 'at spin' } },
      givenBack: [other, next],
    });
  });

  test('may keep it for as long as that attempt has left, late as the others are', () => {
    const patient = running(1, -3000);
    expect(decideUnresponsive(silence([patient, other]), busyWith(patient))).toEqual({
      kind: 'wait',
      ms: 3000 + GRACE_MS + ALLOWANCE_MS,
    });
  });

  test('has its task cancelled where that was asked for, rather than time out', () => {
    const verdict = decideUnresponsive(
      silence([guilty], { cancels: cancelled(guilty, 5000) }),
      busyWith(guilty),
    );
    expect(verdict).toMatchObject({
      blamed: { ended: { kind: 'cancelled', reason: 'a test', killed: true } },
    });
  });

  test('is unresponsive where its task has no timeout', () => {
    const endless = running(1);
    const verdict = decideUnresponsive(
      silence([endless], { silentMs: WITHOUT_DEADLINE_MS }),
      busyWith(endless),
    );
    expect(verdict).toMatchObject({
      blamed: { row: endless, ended: { kind: 'unresponsive', blockedMs: 10_000 } },
    });
  });

  test('with no task to blame it is left alone for five minutes; then all are given back, and no task is blamed', () => {
    const nothingFound = { lease: null, stack: 'at spin' };
    expect(decideUnresponsive(silence([other]), nothingFound)).toEqual({
      kind: 'wait',
      ms: WITHOUT_DEADLINE_MS - 5000,
    });
    expect(
      decideUnresponsive(silence([other, next], { silentMs: WITHOUT_DEADLINE_MS }), nothingFound),
    ).toEqual({
      kind: 'end',
      blamed: undefined,
      givenBack: [other, next],
    });
  });
});

describe('a main thread that cannot be asked', () => {
  const [first, last, next, elsewhere] = [running(1, 10_000), running(2, 10_000), waiting(3), apart(4)];

  test('is taken to be busy with what was entered last; what ran beside it is left to its lease', () => {
    const verdict = decideUnresponsive(
      silence([first, last, next, elsewhere], { lastEntered: 2 }),
      undefined,
    );
    expect(verdict).toMatchObject({ kind: 'end', blamed: { row: last }, givenBack: [next, elsewhere] });
  });

  test('ends without a task to blame if that task has ended', () => {
    expect(decideUnresponsive(silence([first, next], { lastEntered: 9 }), undefined)).toEqual({
      kind: 'end',
      blamed: undefined,
      givenBack: [next],
    });
  });
});
