import { expect, test } from 'vitest';
import type { Room } from '../../src/queue/protocol/claim.ts';
import { claimRoom, type Load, MOST_AHEAD } from '../../src/worker/claim/claim-room.ts';

const IDLE = {
  concurrency: 8,
  freeSlots: 8,
  waiting: 0,
  busyMs: 0,
  startsSoon: 5000,
  meanLength: 20,
  batch: 'auto',
  most: 5000,
} as const;

interface Question extends Load {
  readonly waiting: number;
  readonly batch: 'auto' | number;
  readonly most: number;
}

function roomOf({ waiting, batch, most, ...load }: Question): Room {
  return claimRoom(load, waiting, batch, most);
}

test('a worker that knows nothing yet claims for its slots alone', () => {
  expect(roomOf({ ...IDLE, meanRunMs: undefined })).toEqual({ start: 8, ahead: 0 });
});

test('slow handlers claim nothing ahead', () => {
  expect(roomOf({ ...IDLE, freeSlots: 1, meanRunMs: 5000 })).toEqual({ start: 1, ahead: 0 });
  expect(roomOf({ ...IDLE, freeSlots: 0, meanRunMs: 5000 })).toEqual({ start: 0, ahead: 0 });
});

test('fast handlers claim ahead what their slots will start in a moment, never without bound', () => {
  expect(roomOf({ ...IDLE, meanRunMs: 0.01 })).toEqual({ start: 8, ahead: MOST_AHEAD });
  expect(roomOf({ ...IDLE, meanRunMs: 2 })).toEqual({ start: 8, ahead: 80 });
});

test('fast handlers of a process that gets little CPU claim ahead no more than it starts soon', () => {
  expect(roomOf({ ...IDLE, meanRunMs: 0.01, startsSoon: 90 })).toEqual({ start: 8, ahead: 90 });
  expect(roomOf({ ...IDLE, freeSlots: 0, waiting: 70, meanRunMs: 0.01, startsSoon: 90 })).toEqual({
    start: 0,
    ahead: 0,
  });
});

test('of payloads of a megabyte no more are asked for than a claim brings', () => {
  const large = { ...IDLE, meanLength: 1_000_000 };
  expect(roomOf({ ...large, meanRunMs: 0.01 })).toEqual({ start: 8, ahead: 8 });
  expect(roomOf({ ...large, meanRunMs: 0.01, freeSlots: 0 })).toEqual({ start: 0, ahead: 16 });
  const wide = { ...large, concurrency: 1000, freeSlots: 1000, batch: 1000, meanRunMs: 5000 };
  expect(roomOf(wide)).toEqual({ start: 16, ahead: 0 });
  expect(roomOf({ ...wide, meanLength: 100_000_000 })).toEqual({ start: 1, ahead: 0 });
});

test('while more than three quarters of that wait, nothing is claimed', () => {
  expect(roomOf({ ...IDLE, freeSlots: 0, waiting: 61, meanRunMs: 2 })).toEqual({ start: 0, ahead: 0 });
  expect(roomOf({ ...IDLE, freeSlots: 0, waiting: 30, meanRunMs: 2 })).toEqual({ start: 0, ahead: 50 });
});

test('a fixed batch is claimed as far as it can start soon, and no more in one claim', () => {
  expect(roomOf({ ...IDLE, batch: 100, meanRunMs: undefined })).toEqual({ start: 8, ahead: 92 });
  expect(roomOf({ ...IDLE, batch: 100, meanRunMs: 40 })).toEqual({ start: 8, ahead: 92 });
  expect(roomOf({ ...IDLE, batch: 100, meanRunMs: 400 })).toEqual({ start: 8, ahead: 10 });
  expect(roomOf({ ...IDLE, batch: 100, meanRunMs: 5000 })).toEqual({ start: 8, ahead: 0 });
  expect(roomOf({ ...IDLE, batch: 1, meanRunMs: 0.01 })).toEqual({ start: 1, ahead: 0 });
});

test.each(['auto', 100] as const)('while no slot becomes free nothing is claimed ahead (%s)', (batch) => {
  const busy = { ...IDLE, batch, freeSlots: 0, busyMs: 60_000 };
  expect(roomOf({ ...busy, meanRunMs: 0.01 })).toEqual({ start: 0, ahead: 0 });
  expect(roomOf({ ...busy, meanRunMs: undefined })).toEqual({ start: 0, ahead: 0 });
});

test('never more than there is room for', () => {
  expect(roomOf({ ...IDLE, most: 3, meanRunMs: 0.01 })).toEqual({ start: 3, ahead: 0 });
  expect(roomOf({ ...IDLE, most: 0, meanRunMs: 0.01 })).toEqual({ start: 0, ahead: 0 });
});
