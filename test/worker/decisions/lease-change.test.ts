import { describe, expect, test } from 'vitest';
import { heartbeatFor, LeaseChange } from '../../../src/worker/heartbeat/lease-change.ts';

const FROM = { leaseMs: 30_000, heartbeatMs: 10_000 };

test('heartbeats come three times in a lease, more often where they were set to, never more rarely', () => {
  expect(heartbeatFor(60_000, FROM)).toBe(20_000);
  expect(heartbeatFor(9000, FROM)).toBe(3000);
  const often = { leaseMs: 30_000, heartbeatMs: 2000 };
  expect(heartbeatFor(60_000, often)).toBe(2000);
  expect(heartbeatFor(3000, often)).toBe(1000);
});

/** Answers the next heartbeat. */
const beat = (change: LeaseChange, judgedByMs: number, all = true) =>
  change.answered(change.next, all, judgedByMs);

describe('a longer lease', () => {
  test('is in force, and read back, before the main thread claims for it', () => {
    const change = new LeaseChange(FROM);
    expect(change.request(60_000)).toBe(true);
    const recording = { wantedMs: 60_000, leaseMs: 30_000, inForceMs: 60_000, stage: 'recording' };
    expect(change.next).toEqual(recording);
    // The worker's row is locked: others still judge by the shorter length.
    expect(beat(change, 30_000)).toBeUndefined();
    expect(change.next).toEqual(recording);
    expect(change.isUnrecorded).toBe(true);
    expect(beat(change, 60_000)).toBe('switch');
    expect(change.next.leaseMs).toBe(60_000);
    expect(change.switched(60_000)).toBe(true);
    expect(change.heartbeatMs).toBe(10_000);
    expect(beat(change, 60_000)).toBe('settled');
    expect(change.heartbeatMs).toBe(20_000);
  });
});

describe('a shorter lease', () => {
  test('is in force once the main thread has taken it up and every lease was renewed with it', () => {
    const change = new LeaseChange(FROM);
    change.request(9000);
    // Judged by the longer length, a shorter lease is still in time.
    expect(change.next).toMatchObject({ leaseMs: 9000, inForceMs: 30_000 });
    expect([change.heartbeatMs, change.shortestMs]).toEqual([3000, 9000]);
    expect(beat(change, 30_000)).toBe('switch');
    expect(beat(change, 30_000)).toBeUndefined();
    expect(change.switched(9000)).toBe(true);
    expect(beat(change, 30_000, false)).toBeUndefined();
    expect(change.next.inForceMs).toBe(30_000);
    expect(beat(change, 30_000)).toBe('settled');
    expect(change.next).toEqual({ wantedMs: 9000, leaseMs: 9000, inForceMs: 9000, stage: 'settled' });
  });
});

test('a request for the same length is no change, and a new request replaces the one before', () => {
  const change = new LeaseChange(FROM);
  expect(change.request(30_000)).toBe(false);
  change.request(60_000);
  const late = change.next;
  change.request(9000);
  expect(change.answered(late, true, 60_000)).toBeUndefined();
  expect(change.switched(60_000)).toBe(false);
  expect(change.next).toEqual({
    wantedMs: 9000,
    leaseMs: 9000,
    inForceMs: 60_000,
    stage: 'recording',
  });
});
