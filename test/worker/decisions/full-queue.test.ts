import { expect, test } from 'vitest';
import { Wakeup } from '../../../src/lib/wakeup.ts';
import type { ClaimContext } from '../../../src/worker/claim/claim-context.ts';
import { type ClaimLoopHost, claimLoop } from '../../../src/worker/claim/claim-loop.ts';
import { type Claimer, type ClaimOptions, NO_FINDINGS } from '../../../src/worker/claim/claimer.ts';
import { PromisedClaim } from '../../../src/worker/claim/promised-claim.ts';

/**
 * What a claim loop does whose claims find this, one after another; outcomes take effect, or do not, when it waits for
 * them.
 */
async function loop(
  claims: readonly { got: number; isFull: boolean }[],
  { isAnswered = true, groupedOutcomes = 0 } = {},
) {
  const stop = new AbortController();
  const done: string[] = [];
  const rest = [...claims];
  let effects = 0;
  const host: ClaimLoopHost = {
    room: () => ({ start: 10, ahead: 0 }),
    ...{ pollMs: 1, receivesHints: true },
    endIfDone: () => {},
    endIfIdle: async () => false,
    get effects() {
      return effects;
    },
    groupedOutcomes,
    hasEffectsBeyond: async (known) => {
      done.push('waited');
      if (isAnswered) effects = known + 1;
      return isAnswered;
    },
    onStatementFailed: (error) => expect.unreachable(String(error)),
  };
  const claimer = {
    found: NO_FINDINGS,
    roomOf: (room: object) => room,
    async claim(_room: object, _queues: readonly string[], { isFollowing }: ClaimOptions) {
      done.push(isFollowing ? 'followed' : 'claimed');
      const { got, isFull } = rest.shift()!;
      if (rest.length === 0) stop.abort();
      const waitsForPlaces = got === 0 || isFull ? got === 0 && isFull : this.found.waitsForPlaces;
      this.found = { ...NO_FINDINGS, isFull, waitsForPlaces };
      return got;
    },
  };
  const context = {
    queuesKnown: () => ['a'],
    queuesNow: async () => ['a'],
    enterIdle: async () => {
      done.push('idle');
      return { dueMs: null, mostMs: 1, queues: ['a'] };
    },
    leaveIdle: async () => {},
  } as unknown as ClaimContext;
  const wakeups = { slotFreed: new Wakeup(), workArrived: new Wakeup() };
  await claimLoop({
    ...{ host, context, wakeups, stop: stop.signal },
    ...{ claimer: claimer as unknown as Claimer, promised: new PromisedClaim() },
  });
  return done;
}

const FULL = { got: 0, isFull: true };
const ALL_PLACES = { got: 10, isFull: false };
const NOTHING = { got: 0, isFull: false };

test('a worker that has all places of a queue claims when its outcomes are recorded, and is not idle', async () => {
  expect(await loop([ALL_PLACES, FULL, ALL_PLACES, ALL_PLACES, NOTHING])).toEqual([
    'claimed',
    ...['claimed', 'waited'],
    ...['waited', 'claimed'],
    ...['waited', 'claimed'],
    ...['waited', 'claimed'],
  ]);
});

test('it is idle where others have the places, and where nothing waits', async () => {
  expect(await loop([FULL, NOTHING], { isAnswered: false })).toEqual([
    'claimed',
    'waited',
    'idle',
    'claimed',
  ]);
  expect(await loop([NOTHING, NOTHING])).toEqual(['claimed', 'idle', 'claimed']);
});

test('it waits for no outcome where other queues have tasks', async () => {
  expect(await loop([FULL, { got: 10, isFull: true }, ALL_PLACES])).toEqual([
    ...['claimed', 'waited'],
    ...['waited', 'claimed'],
    'claimed',
  ]);
});

test('a worker whose tasks of groups are about to end claims behind their outcomes, and is not idle', async () => {
  const one = { got: 1, isFull: false };
  expect(await loop([one, NOTHING, one, ALL_PLACES, one], { groupedOutcomes: 1 })).toEqual([
    'claimed',
    ...['waited', 'followed', 'waited'],
    ...['waited', 'followed'],
    ...['waited', 'followed'],
    'claimed',
  ]);
});

test('it waits once for an outcome of a group that is held up', async () => {
  const one = { got: 1, isFull: false };
  const heldUp = { groupedOutcomes: 1, isAnswered: false };
  expect(await loop([one, one, one, NOTHING, NOTHING], heldUp)).toEqual([
    'claimed',
    ...['waited', 'claimed'],
    'claimed',
    'claimed',
    ...['idle', 'claimed'],
  ]);
});
