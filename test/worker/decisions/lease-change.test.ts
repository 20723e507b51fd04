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
  change.beaten(change.beating, all, judgedByMs);

describe('a longer lease', () => {
  test('is in force, and read back, before the main thread claims for it', () => {
    const change = new LeaseChange(FROM);
    expect(change.want(60_000)).toBe(true);
    expect(change.beating).toEqual({ leaseMs: 60_000, inForceMs: 60_000, stage: 'wanted' });
    // The worker's row is locked: others still judge by the shorter length.
    expect(beat(change, 30_000)).toBeUndefined();
    expect(change.isUnknown).toBe(true);
    expect(beat(change, 60_000)).toBe('tell');
    expect(change.taken(60_000)).toBe(true);
    expect(change.heartbeatMs).toBe(10_000);
    expect(beat(change, 60_000)).toBe('settled');
    expect(change.heartbeatMs).toBe(20_000);
  });
});

describe('a shorter lease', () => {
  test('is in force once the main thread has taken it up and every lease was renewed with it', () => {
    const change = new LeaseChange(FROM);
    change.want(9000);
    // Judged by the longer length, a shorter lease is still in time.
    expect(change.beating).toMatchObject({ leaseMs: 9000, inForceMs: 30_000 });
    expect([change.heartbeatMs, change.shortestMs]).toEqual([3000, 9000]);
    expect(beat(change, 30_000)).toBe('tell');
    expect(beat(change, 30_000)).toBeUndefined();
    expect(change.taken(9000)).toBe(true);
    expect(beat(change, 30_000, false)).toBeUndefined();
    expect(change.beating.inForceMs).toBe(30_000);
    expect(beat(change, 30_000)).toBe('settled');
    expect(change.beating).toEqual({ leaseMs: 9000, inForceMs: 9000, stage: 'settled' });
  });
});

test('what is wanted again is no change, and what was wanted before counts no more', () => {
  const change = new LeaseChange(FROM);
  expect(change.want(30_000)).toBe(false);
  change.want(60_000);
  const late = change.beating;
  change.want(9000);
  expect(change.beaten(late, true, 60_000)).toBeUndefined();
  expect(change.taken(60_000)).toBe(false);
  expect(change.beating).toEqual({ leaseMs: 9000, inForceMs: 60_000, stage: 'wanted' });
});
