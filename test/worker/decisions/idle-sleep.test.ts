import { expect, test } from 'vitest';
import { Wakeup } from '../../../src/lib/wakeup.ts';
import type { ClaimContext } from '../../../src/worker/claim/claim-context.ts';
import { type ClaimLoopHost, claimLoop } from '../../../src/worker/claim/claim-loop.ts';
import { type Claimer, NO_FINDINGS } from '../../../src/worker/claim/claimer.ts';
import { PromisedClaim } from '../../../src/worker/claim/promised-claim.ts';

/** How an idle worker waits after a look, and then after the next one, where it ends. */
async function sleeps(sweepInMs: number | null) {
  const stop = new AbortController();
  const waited: number[] = [];
  const host: ClaimLoopHost = {
    room: () => ({ start: 1, ahead: 0 }),
    pollMs: 3_600_000,
    receivesHints: true,
    endIfDone: () => {},
    endIfIdle: async () => false,
    ...{ effects: 0, groupedOutcomes: 0, hasEffectsBeyond: async () => false },
    onStatementFailed: (error) => expect.unreachable(String(error)),
  };
  const claimer = {
    roomOf: (room: object) => room,
    claim: async () => 0,
    attend: async () => {},
    found: { ...NO_FINDINGS, sweepInMs },
  } as unknown as Claimer;
  const context = {
    queuesKnown: () => ['a'],
    queuesNow: async () => ['a'],
    enterIdle: async () => ({ dueMs: null, mostMs: Infinity, queues: ['a'] }),
  } as unknown as ClaimContext;
  const workArrived = {
    wait: async (ms: number) => {
      waited.push(ms);
      if (waited.length === 2) stop.abort();
      return 'elapsed';
    },
  } as unknown as Wakeup;
  const wakeups = { slotFreed: new Wakeup(), workArrived };
  await claimLoop({ host, claimer, context, promised: new PromisedClaim(), wakeups, stop: stop.signal });
  return waited;
}

test('an idle worker sleeps longer each time, but not past the sweep that its last look came too early for', async () => {
  expect(await sleeps(null)).toEqual([50, 50]);
  expect(await sleeps(20)).toEqual([20, 20]);
});
