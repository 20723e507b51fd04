import { expect, test } from 'vitest';
import { Wakeup } from '../../../src/lib/wakeup.ts';
import type { Room } from '../../../src/queue/protocol/claim.ts';
import type { ClaimContext } from '../../../src/worker/claim/claim-context.ts';
import { type ClaimLoopHost, claimLoop } from '../../../src/worker/claim/claim-loop.ts';
import { NO_ROOM } from '../../../src/worker/claim/claim-room.ts';
import { type Claimer, NO_FINDINGS } from '../../../src/worker/claim/claimer.ts';
import { PromisedClaim } from '../../../src/worker/claim/promised-claim.ts';

/** A claim loop that finds this room, one after another, and then stops; what it did. */
async function loop(rooms: readonly Room[], promised: PromisedClaim, onClaim = () => {}) {
  const stop = new AbortController();
  const done: string[] = [];
  const rest = [...rooms];
  const host: ClaimLoopHost = {
    room: () => {
      if (rest.length === 1) stop.abort();
      return rest.shift()!;
    },
    pollMs: 1,
    receivesHints: false,
    endIfDone: () => {},
    endIfIdle: async () => false,
    ...{ effects: 0, groupedOutcomes: 0, hasEffectsBeyond: async () => false },
    onStatementFailed: (error) => done.push(String(error)),
  };
  const claimer = {
    found: NO_FINDINGS,
    roomOf: (room: Room) => room,
    claim: async ({ start }: Room) => {
      promised.paid();
      done.push('claimed');
      onClaim();
      return start;
    },
    attend: async () => {
      promised.paid();
      done.push('attended');
    },
  } as unknown as Claimer;
  const context = { queuesKnown: () => ['a'], queuesNow: async () => ['a'] } as unknown as ClaimContext;
  const wakeups = { slotFreed: new Wakeup(), workArrived: new Wakeup() };
  await claimLoop({ host, claimer, context, promised, wakeups, stop: stop.signal });
  return done;
}

const ROOM: Room = { start: 1, ahead: 0 };

test('a worker promises a claim while it has room', async () => {
  const promised = new PromisedClaim();
  const could: boolean[] = [promised.mayPromise];
  await loop([ROOM, NO_ROOM], promised, () => could.push(promised.mayPromise));
  expect([...could, promised.mayPromise]).toEqual([false, true, false]);
});

test('a promised claim is an ordinary one where there is room', async () => {
  const promised = new PromisedClaim();
  promised.owe();
  expect(await loop([ROOM, NO_ROOM], promised)).toEqual(['claimed']);
});

test('where a claim in flight has filled the worker, it attends once without claiming', async () => {
  const promised = new PromisedClaim();
  const rooms = [ROOM, NO_ROOM, NO_ROOM, NO_ROOM];
  expect(await loop(rooms, promised, () => promised.owe())).toEqual(['claimed', 'attended']);
});

test('a worker that stops before the claim attends at its end, and once more for each outcome recorded after that', async () => {
  const promised = new PromisedClaim();
  const done = await loop([ROOM], promised, () => promised.owe());
  expect(done).toEqual(['claimed', 'attended']);
  promised.owe();
  expect(done).toEqual(['claimed', 'attended', 'attended']);
});
