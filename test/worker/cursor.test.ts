import { describe, expect, test } from 'vitest';
import type { ClaimedTask } from '../../src/domain/task.ts';
import type { Looked, Position } from '../../src/queue/protocol/claim.ts';
import type { Missed } from '../../src/queue/protocol/find-missed.ts';
import { ClaimCursor, type Look } from '../../src/worker/claim/claim-cursor.ts';

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
    hasLastChance: false,
    availableAtUs,
    timeoutMs: null,
    groupKey: null,
    traceparent: null,
    tick: null,
    workflow: null,
    running: true,
  };
}

const QUEUES = ['default'];

interface Brought {
  readonly short?: boolean;
  readonly costMs?: number;
  /** The claim looked up to this time in this many levels; by default in all. */
  readonly lookedToUs?: number;
  readonly levels?: number;
}

/** A claim at `now` that brought these tasks; full by default. */
function claim(cursor: ClaimCursor, now: number, tasks: ClaimedTask[], brought: Brought = {}): Look {
  const look = cursor.next(now, QUEUES);
  take(cursor, look, now, tasks, brought);
  return look;
}

function take(
  cursor: ClaimCursor,
  look: Look,
  now: number,
  tasks: ClaimedTask[],
  { short = false, costMs = 1, lookedToUs, levels = short ? 10 : 0 }: Brought = {},
): void {
  const looked =
    lookedToUs === undefined && !short ? null : lookedAt(lookedToUs ?? now * 1000, QUEUES, levels);
  cursor.claimed({ look, tasks, looked, short, costMs }, now);
}

/** Of a claim that left no ask of a group. */
function lookedAt(toUs: number, queues: readonly string[], levels: number): Looked {
  return {
    toUs,
    queues,
    levels,
    askedToUs: toUs,
    asksLeft: new Map(),
    opensInMs: null,
    isFull: false,
    wantsSlot: false,
  };
}

/** A sweep at `now` that found these tasks. */
function sweep(
  cursor: ClaimCursor,
  now: number,
  {
    found = [],
    costMs = 1,
    queues = QUEUES,
  }: { found?: ClaimedTask[]; costMs?: number; queues?: string[] } = {},
): void {
  const due = cursor.nextSweep(now, queues);
  if (due === undefined) throw new Error('no sweep is due');
  cursor.sweptBeside(due, missed(now, ...found), costMs, now);
}

function missed(now: number, ...tasks: ClaimedTask[]): Missed {
  return {
    first: tasks.map(({ queue, priority, availableAtUs, id }) => ({
      queue,
      priority,
      position: { availableAtUs, id: Number(id) },
      isLimited: false,
    })),
    lookedToUs: now * 1000,
  };
}

/** A cursor that knows what lies before its positions, an hour after the beginning of time. */
function begun(found: ClaimedTask[] = [], costMs = 1): ClaimCursor {
  const cursor = new ClaimCursor();
  sweep(cursor, HOUR, { found, costMs });
  return cursor;
}

const HOUR = 3_600_000;

function positionIn(cursor: ClaimCursor, now: number, priority = 2): Position | null | undefined {
  return cursor.next(now, QUEUES).cursor?.get('default')?.[priority];
}

describe('the claim cursor', () => {
  test('begins where a sweep finds the first task of each level, then goes on from the last one claimed', () => {
    const cursor = begun([task(1, 10), task(7, 5, 0)]);
    const look = claim(cursor, HOUR, []);
    expect(look.cursor?.get('default')?.slice(0, 3)).toEqual([
      { availableAtUs: 5, id: 6 },
      { availableAtUs: HOUR * 1000, id: 0 },
      { availableAtUs: 10, id: 0 },
    ]);
    claim(cursor, HOUR + 10, [task(1, 10), task(2, 20), task(7, 5, 0)]);
    expect(claim(cursor, HOUR + 11, []).kind).toBe('forward');
    expect(positionIn(cursor, HOUR + 12)).toEqual({ availableAtUs: 20, id: 2 });
    expect(positionIn(cursor, HOUR + 12, 0)).toEqual({ availableAtUs: 5, id: 7 });
  });

  test('moves to where a claim has looked to the end of a level, past what it left there', () => {
    const cursor = begun([task(1, 10), task(9, 9, 1), task(5, 5, 4)]);
    claim(cursor, HOUR, [task(1, 10)], { lookedToUs: 77, levels: 2 });
    expect(positionIn(cursor, HOUR + 1, 1)).toEqual({ availableAtUs: 77, id: 0 });
    expect(positionIn(cursor, HOUR + 1, 2)).toEqual({ availableAtUs: 10, id: 1 });
    expect(positionIn(cursor, HOUR + 1, 4)).toEqual({ availableAtUs: 5, id: 4 });
    claim(cursor, HOUR + 2, [task(2, 20)], { short: true, lookedToUs: 99 });
    for (const priority of [0, 1, 2, 4, 9])
      expect(positionIn(cursor, HOUR + 3, priority)).toEqual({ availableAtUs: 99, id: 0 });
  });

  test('says of several queues which levels were looked at, in the order of the claim', () => {
    const cursor = new ClaimCursor();
    const queues = ['b', 'a'];
    sweep(cursor, HOUR, { queues });
    const look = cursor.next(HOUR, queues);
    const looked = lookedAt(1, queues, 3);
    cursor.claimed({ look, tasks: [], looked, short: false, costMs: 1 }, HOUR);
    const positions = cursor.next(HOUR + 1, queues).cursor!;
    const isMoved = (queue: string) => positions.get(queue)!.map((position) => position?.availableAtUs === 1);
    // The last one is that of the asks.
    expect(isMoved('b')).toEqual([true, true, ...new Array(8).fill(false), true]);
    expect(isMoved('a')).toEqual([true, ...new Array(9).fill(false), true]);
  });

  test('looks back until a sweep says where a queue begins', () => {
    const cursor = new ClaimCursor();
    expect(cursor.isBlindIn(QUEUES)).toBe(true);
    for (const now of [1, 2, 3]) expect(claim(cursor, now, [task(now, now)]).kind).toBe('back');
    sweep(cursor, 4);
    expect(cursor.isBlindIn(QUEUES)).toBe(false);
    expect(cursor.isBlindIn(['default', 'another'])).toBe(true);
    expect(cursor.nextSweep(5, ['default', 'another'])?.queues).toEqual(['another']);
  });

  test('looks back after every claim that came back short, so that late commits are found at once', () => {
    const cursor = begun([], 1000);
    claim(cursor, HOUR, [task(1, 10)], { short: true });
    const look = cursor.next(HOUR + 100, QUEUES);
    expect(look.kind).toBe('back');
    expect(look.lookBackMs).toBe(2000);
  });

  test('with a backlog looks back only so often that it costs a twentieth of the time', () => {
    const cursor = begun();
    claim(cursor, HOUR + 0, [task(1, 10)], { short: true });
    claim(cursor, HOUR + 100, [task(1, 10)]);
    expect(claim(cursor, HOUR + 119, [task(2, 11)]).kind).toBe('forward');
    expect(claim(cursor, HOUR + 121, [task(3, 12)]).kind).toBe('back');
  });

  test('sweeps by a claim every half second without a backlog, and beside the claims every five seconds with one', () => {
    const cursor = begun();
    claim(cursor, HOUR, [], { short: true });
    expect(cursor.nextSweep(HOUR + 499, QUEUES)).toBeUndefined();
    expect(cursor.next(HOUR + 499, QUEUES).kind).not.toBe('sweep');
    expect(cursor.nextSweep(HOUR + 501, QUEUES)).toBeUndefined();
    expect(claim(cursor, HOUR + 501, [], { short: true })).toMatchObject({ kind: 'sweep', cursor: null });
    claim(cursor, HOUR + 502, [task(1, 10)]);
    expect(cursor.nextSweep(HOUR + 5400, QUEUES)).toBeUndefined();
    expect(cursor.nextSweep(HOUR + 5502, QUEUES)).toBeDefined();
    expect(cursor.next(HOUR + 5502, QUEUES).kind).not.toBe('sweep');
  });

  test('a sweep by a claim that was filled has not come to every level, and is made again beside the claims', () => {
    const cursor = begun();
    claim(cursor, HOUR, [], { short: true });
    expect(claim(cursor, HOUR + 6000, [task(1, 10, 0)]).kind).toBe('sweep');
    expect(cursor.nextSweep(HOUR + 6001, QUEUES)).toBeDefined();
  });

  test('what takes its time is done beside the claims, and never more often than a hundred times its cost', () => {
    const cursor = begun([], 500);
    claim(cursor, HOUR, [], { short: true });
    sweep(cursor, HOUR + 1000, { costMs: 500 });
    expect(cursor.nextSweep(HOUR + 50_999, QUEUES)).toBeUndefined();
    expect(cursor.next(HOUR + 51_000, QUEUES).kind).toBe('back');
    expect(cursor.nextSweep(HOUR + 51_000, QUEUES)).toBeDefined();
  });

  test('the first sweep, slow for being the first, puts off the second one by a second', () => {
    const cursor = new ClaimCursor();
    sweep(cursor, 0, { costMs: 800 });
    expect(cursor.nextSweep(999, QUEUES)).toBeUndefined();
    expect(cursor.nextSweep(1000, QUEUES)).toBeDefined();
  });

  test('says when the sweep is due that a claim came too early for, and nothing if there was one', () => {
    const cursor = new ClaimCursor();
    // A claim beside a sweep, and one that sweeps by itself.
    sweep(cursor, 0);
    claim(cursor, 0, [], { short: true });
    expect(cursor.owedSweepInMs(0)).toBeNull();
    expect(claim(cursor, 600, [], { short: true }).kind).toBe('sweep');
    expect(cursor.owedSweepInMs(600)).toBeNull();
    // Too early.
    expect(claim(cursor, 700, [], { short: true }).kind).toBe('back');
    expect(cursor.owedSweepInMs(700)).toBe(400);
  });

  test('owes no sweep while one is under way beside the claims, which tells what it finds', () => {
    const cursor = new ClaimCursor();
    sweep(cursor, 0, { costMs: 100 });
    claim(cursor, 1, [], { short: true });
    claim(cursor, 2, [], { short: true });
    expect(cursor.owedSweepInMs(2)).toBe(998);
    const due = cursor.nextSweep(1000, QUEUES)!;
    for (const now of [1000, 1001]) {
      claim(cursor, now, [], { short: true });
      expect(cursor.owedSweepInMs(now)).toBeNull();
    }
    cursor.sweepFailed(100, 1100);
    claim(cursor, 1100, [], { short: true });
    expect(cursor.owedSweepInMs(1100)).toBe(10_000);
    expect(due.isPart).toBe(false);
  });

  test('a failed sweep is paid for, more each time, and claims look back meanwhile', () => {
    const cursor = begun();
    claim(cursor, HOUR, [], { short: true });
    const look = cursor.next(HOUR + 1000, QUEUES);
    expect(look.kind).toBe('sweep');
    cursor.failed(look, 80, HOUR + 1000);
    expect(cursor.next(HOUR + 1001, QUEUES).kind).toBe('back');
    expect(cursor.nextSweep(HOUR + 8999, QUEUES)).toBeUndefined();
    expect(cursor.nextSweep(HOUR + 9001, QUEUES)).toBeDefined();
    cursor.sweepFailed(80, HOUR + 9001);
    expect(claim(cursor, HOUR + 9002, [], { short: true }).kind).toBe('back');
    expect(cursor.nextSweep(HOUR + 25_000, QUEUES)).toBeUndefined();
    expect(cursor.nextSweep(HOUR + 25_002, QUEUES)).toBeDefined();
  });

  test('a look back that fails is paid for, and claims go on from the cursor meanwhile', () => {
    const cursor = begun([], 1000);
    claim(cursor, HOUR, [], { short: true });
    const look = cursor.next(HOUR + 1, QUEUES);
    expect(look.kind).toBe('back');
    cursor.failed(look, 80, HOUR + 81);
    expect(cursor.next(HOUR + 1680, QUEUES).kind).toBe('forward');
    expect(cursor.next(HOUR + 1682, QUEUES).kind).toBe('back');
  });

  test('one that fails before anything is known is paid for, too', () => {
    const cursor = new ClaimCursor();
    expect(cursor.nextSweep(0, QUEUES)).toBeDefined();
    cursor.sweepFailed(80, 80);
    expect(cursor.nextSweep(8000, QUEUES)).toBeUndefined();
    expect(cursor.next(8000, QUEUES).kind).toBe('back');
    expect(cursor.nextSweep(8081, QUEUES)).toBeDefined();
  });

  test('goes back to what a sweep found in any level, and has not moved on elsewhere', () => {
    const cursor = begun();
    claim(cursor, HOUR, [task(50, 500, 0), task(60, 600, 7)]);
    const due = cursor.nextSweep(HOUR + 5001, QUEUES)!;
    claim(cursor, HOUR + 5002, [task(51, 510, 0)]);
    cursor.sweptBeside(due, missed(HOUR, task(3, 30, 7), task(70, 700, 3)), 1, HOUR + 5003);
    expect(positionIn(cursor, HOUR + 5004, 0)).toEqual({ availableAtUs: 510, id: 51 });
    expect(positionIn(cursor, HOUR + 5004, 3)).toEqual({ availableAtUs: 700, id: 69 });
    expect(positionIn(cursor, HOUR + 5004, 7)).toEqual({ availableAtUs: 30, id: 2 });
  });

  test('goes back to what a sweep found, also when the claim under way moves it on meanwhile', () => {
    const cursor = begun();
    claim(cursor, HOUR + 1, [task(1, 10)]);
    const due = cursor.nextSweep(HOUR + 5001, QUEUES)!;
    const look = cursor.next(HOUR + 5002, QUEUES);
    cursor.sweptBeside(due, missed(HOUR, task(3, 30), task(4, 40, 7)), 1, HOUR + 5003);
    take(cursor, look, HOUR + 5004, [task(5, 50)], { lookedToUs: 77, levels: 10 });
    expect(cursor.snapshot().default?.slice(4, 6)).toEqual([30, 2]);
    const next = cursor.next(HOUR + 5005, QUEUES);
    expect(next.cursor?.get('default')?.[2]).toEqual({ availableAtUs: 30, id: 2 });
    expect(next.cursor?.get('default')?.[7]).toEqual({ availableAtUs: 40, id: 3 });
    take(cursor, next, HOUR + 5005, [task(3, 30)], { short: true, lookedToUs: 88 });
    expect(positionIn(cursor, HOUR + 5006)).toEqual({ availableAtUs: 88, id: 0 });
  });

  test('goes back where a hint says so, also when the claim under way moves it on meanwhile', () => {
    const cursor = begun();
    claim(cursor, HOUR, [task(1, 10 * SECOND_US)]);
    const look = cursor.next(HOUR + 1, QUEUES);
    cursor.rewind('default', 4 * SECOND_US);
    take(cursor, look, HOUR + 2, [task(2, 11 * SECOND_US)]);
    expect(positionIn(cursor, HOUR + 3)).toEqual({ availableAtUs: 4 * SECOND_US - 1, id: 0 });
  });

  test('sent back to the beginning of a queue has it swept', () => {
    const cursor = begun([], 1000);
    claim(cursor, HOUR, [task(1, 10)]);
    expect(cursor.nextSweep(HOUR + 1, QUEUES)).toBeUndefined();
    cursor.rewind('default', 0);
    expect(cursor.nextSweep(HOUR + 1, QUEUES)?.queues).toEqual(QUEUES);
  });

  test('starts where the slowest live worker is, level by level', () => {
    const ahead = begun([task(9, 90), task(3, 30, 0)]);
    const behind = begun([task(5, 50), task(8, 80, 0)]);
    const cursor = new ClaimCursor();
    cursor.startAt([ahead.snapshot(), behind.snapshot()], HOUR);
    const positions = cursor.next(HOUR, QUEUES).cursor?.get('default');
    expect(positions?.[2]).toEqual({ availableAtUs: 50, id: 4 });
    expect(positions?.[0]).toEqual({ availableAtUs: 30, id: 2 });
    expect(cursor.nextSweep(HOUR + 499, QUEUES)).toBeUndefined();
    expect(cursor.nextSweep(HOUR + 501, QUEUES)).toBeDefined();
  });

  test.each([
    5,
    null,
    'a',
    [5],
    { default: 5 },
    { default: null },
    { default: { 0: 1 } },
    { default: ['a', {}] },
  ])('starts beside a worker that stored %j as its cursors', (stored) => {
    const sane = begun([task(9, 90)]);
    for (const cursors of [[stored], [stored, sane.snapshot()], [sane.snapshot(), stored]]) {
      const cursor = new ClaimCursor();
      cursor.startAt(cursors, HOUR);
      expect(cursor.next(HOUR, QUEUES).cursor?.get('default')?.[2] ?? null).toBeNull();
    }
  });

  test('sends no cursor of a queue whose start it does not know', () => {
    const cursor = new ClaimCursor();
    claim(cursor, 0, [task(1, 10)], { short: true });
    expect(cursor.snapshot()).toEqual({});
    sweep(cursor, 1);
    expect(Object.keys(cursor.snapshot())).toEqual(QUEUES);
    const other = new ClaimCursor();
    other.startAt([cursor.snapshot(), {}], 2);
    expect(other.isBlindIn(QUEUES)).toBe(true);
  });

  test('that is reset begins every level anew, also when a claim and a sweep were under way', () => {
    const cursor = begun();
    claim(cursor, HOUR, [task(1, 10), task(2, 20)]);
    const look = cursor.next(HOUR + 5001, QUEUES);
    const due = cursor.nextSweep(HOUR + 5001, QUEUES)!;
    cursor.reset();
    expect(cursor.snapshot()).toEqual({});
    take(cursor, look, HOUR + 5002, [task(3, 30)]);
    cursor.sweptBeside(due, missed(HOUR), 1, HOUR + 5003);
    expect(cursor.isBlindIn(QUEUES)).toBe(true);
    expect(cursor.nextSweep(HOUR + 5004, QUEUES)?.cursor.size).toBe(0);
    expect(cursor.snapshot()).toEqual({});
  });

  test('keeps a hint that comes while a queue is swept for the first time', () => {
    const cursor = new ClaimCursor();
    const first = cursor.nextSweep(0, ['q'])!;
    // The sweep saw a task that was held, which is given back before its answer comes.
    cursor.rewind('q', 1000);
    cursor.next(1, ['q']);
    cursor.sweptBeside(first, { first: [], lookedToUs: 60_000_000 }, 10, 2);
    expect(cursor.next(3, ['q']).cursor?.get('q')?.[0]?.availableAtUs).toBeLessThan(1000);
  });

  test('forgets where it stood in queues that are not served any longer, when they are many', () => {
    const cursor = new ClaimCursor();
    for (let n = 0; n < 2000; n++) sweep(cursor, n, { queues: [`queue ${n}`] });
    sweep(cursor, HOUR, { queues: ['queue 7'] });
    expect(Object.keys(cursor.snapshot()).length).toBeLessThan(1002);
    expect(cursor.isBlindIn(['queue 7'])).toBe(false);
    expect(cursor.isBlindIn(['queue 8'])).toBe(true);
  });

  test('gives every queue the first turn', () => {
    const cursor = new ClaimCursor();
    const firsts = [1, 2, 3].map(() => cursor.inTurn(['a', 'b', 'c'])[0]);
    expect(firsts.sort()).toEqual(['a', 'b', 'c']);
  });
});
