import { describe, expect, test } from 'vitest';
import type { ClaimedTask } from '../../src/domain/task.ts';
import { ClaimCursor, type Look } from '../../src/worker/cursor.ts';

const SECOND_US = 1_000_000;

function task(id: number, availableAtUs: number, priority = 2): ClaimedTask {
  return {
    id: String(id),
    leaseNo: 1,
    type: 'noop',
    queue: 'default',
    payload: '{}',
    priority,
    attempts: 0,
    losses: 0,
    availableAtUs,
    timeoutMs: null,
    groupKey: null,
    traceparent: null,
    running: true,
  };
}

/** A claim at `now` that brought these tasks, and whether that was all there was. */
function claim(cursor: ClaimCursor, now: number, tasks: ClaimedTask[], short = false): Look {
  const look = cursor.next(now);
  cursor.claimed({ look, tasks, short, costMs: 1 }, now);
  return look;
}

describe('the claim cursor', () => {
  test('begins with a sweep, then goes on from the last task claimed in each level', () => {
    const cursor = new ClaimCursor();
    expect(claim(cursor, 0, [task(1, 10), task(2, 20), task(7, 5, 0)]).kind).toBe('sweep');
    const look = claim(cursor, 10, []);
    expect(look.kind).toBe('on');
    expect(look.cursor?.get('default')?.[2]).toEqual({ availableAtUs: 20, id: 2 });
    expect(look.cursor?.get('default')?.[0]).toEqual({ availableAtUs: 5, id: 7 });
    expect(look.cursor?.get('default')?.[5]).toBeNull();
  });

  test('looks back after every claim that came back short, so that late commits are found at once', () => {
    const cursor = new ClaimCursor();
    claim(cursor, 0, [task(1, 10)], true);
    const look = cursor.next(100);
    expect(look.kind).toBe('back');
    expect(look.lookBackMs).toBe(2000);
  });

  test('with a backlog looks back only so often that it costs a twentieth of the time', () => {
    const cursor = new ClaimCursor();
    claim(cursor, 0, [task(1, 10)]);
    expect(claim(cursor, 19, [task(2, 11)]).kind).toBe('on');
    expect(claim(cursor, 21, [task(3, 12)]).kind).toBe('back');
  });

  test('sweeps every half second without a backlog and every five seconds with one', () => {
    const cursor = new ClaimCursor();
    claim(cursor, 0, [], true);
    expect(cursor.next(499).kind).not.toBe('sweep');
    expect(claim(cursor, 501, [task(1, 10)], false).kind).toBe('sweep');
    expect(cursor.next(5400).kind).not.toBe('sweep');
    expect(cursor.next(5502).kind).toBe('sweep');
  });

  test('never sweeps more often than twenty times its cost', () => {
    const cursor = new ClaimCursor();
    const look = cursor.next(0);
    cursor.claimed({ look, tasks: [], short: true, costMs: 500 }, 0);
    expect(cursor.next(9000).kind).not.toBe('sweep');
    expect(cursor.next(10_001).kind).toBe('sweep');
  });

  test('goes back where a hint says so, also when the claim under way moves it on meanwhile', () => {
    const cursor = new ClaimCursor();
    claim(cursor, 0, [task(1, 10 * SECOND_US)]);
    const look = cursor.next(1);
    cursor.rewind('default', 4 * SECOND_US);
    cursor.claimed({ look, tasks: [task(2, 11 * SECOND_US)], short: false, costMs: 1 }, 2);
    const place = cursor.next(3).cursor?.get('default')?.[2];
    expect(place).toEqual({ availableAtUs: 4 * SECOND_US - 1, id: 0 });
  });

  test('starts where the slowest live worker is, level by level', () => {
    const ahead = new ClaimCursor();
    claim(ahead, 0, [task(9, 90), task(3, 30, 0)]);
    const behind = new ClaimCursor();
    claim(behind, 0, [task(5, 50), task(8, 80, 0)]);
    const cursor = new ClaimCursor();
    cursor.startAt([ahead.snapshot(), behind.snapshot()]);
    const places = cursor.next(performance.now()).cursor?.get('default');
    expect(places?.[2]).toEqual({ availableAtUs: 50, id: 5 });
    expect(places?.[0]).toEqual({ availableAtUs: 30, id: 3 });
    expect(places?.[1]).toBeNull();
  });

  test('that is reset begins every level anew, also when a claim was under way', () => {
    const cursor = new ClaimCursor();
    claim(cursor, 0, [task(1, 10), task(2, 20)]);
    const look = cursor.next(1);
    cursor.reset();
    expect(cursor.snapshot()).toEqual({});
    cursor.claimed({ look, tasks: [task(3, 30)], short: false, costMs: 1 }, 2);
    expect(cursor.next(3)).toMatchObject({ kind: 'sweep', cursor: null });
    expect(cursor.snapshot()).toEqual({});
  });

  test('gives every queue the first turn', () => {
    const cursor = new ClaimCursor();
    const firsts = [1, 2, 3].map(() => cursor.inTurn(['a', 'b', 'c'])[0]);
    expect(firsts.sort()).toEqual(['a', 'b', 'c']);
  });
});
