import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { every } from '../../src/lib/every.ts';
import { Wakeup } from '../../src/lib/wakeup.ts';

const unexpected = (error: unknown) => {
  throw error;
};

test('shots follow one another and never overlap', async () => {
  const stop = new AbortController();
  let running = 0;
  let most = 0;
  let shots = 0;
  const shot = async () => {
    running += 1;
    most = Math.max(most, running);
    await sleep(5);
    running -= 1;
    shots += 1;
    if (shots === 5) stop.abort();
  };
  await every(shot, { everyMs: 1, signal: stop.signal, onError: unexpected });
  expect({ most, shots }).toEqual({ most: 1, shots: 5 });
});

test('it resolves only when the running call has ended, whose signal is aborted', async () => {
  const stop = new AbortController();
  let hasEnded = false;
  let wasTold = false;
  const shot = async (signal: AbortSignal) => {
    stop.abort();
    await sleep(20);
    wasTold = signal.aborted;
    hasEnded = true;
  };
  await every(shot, { everyMs: 1, signal: stop.signal, onError: unexpected });
  expect({ hasEnded, wasTold }).toEqual({ hasEnded: true, wasTold: true });
});

test('a shot that fails is reported and the next one comes', async () => {
  const stop = new AbortController();
  const errors: unknown[] = [];
  let shots = 0;
  const shot = (): Promise<void> => {
    shots += 1;
    if (shots === 1) throw new Error('at once');
    if (shots === 2) return Promise.reject(new Error('later'));
    stop.abort();
    return Promise.resolve();
  };
  await every(shot, { everyMs: 1, signal: stop.signal, onError: (error) => errors.push(error) });
  expect(errors).toEqual([new Error('at once'), new Error('later')]);
});

test('nothing runs under a signal that has aborted', async () => {
  let shots = 0;
  const shot = async () => {
    shots += 1;
  };
  await every(shot, { everyMs: 1, signal: AbortSignal.abort(), onError: unexpected });
  expect(shots).toBe(0);
});

test('a wakeup ends the pause', async () => {
  const stop = new AbortController();
  const wakeup = new Wakeup();
  let shots = 0;
  const shot = async () => {
    shots += 1;
    if (shots === 3) stop.abort();
    else wakeup.trigger();
  };
  await every(shot, { everyMs: 3_600_000, signal: stop.signal, onError: unexpected, wakeup });
  expect(shots).toBe(3);
});

test('pauses stray from one another by the jitter', async () => {
  const stop = new AbortController();
  const starts: number[] = [];
  const shot = async () => {
    starts.push(performance.now());
    if (starts.length === 12) stop.abort();
  };
  await every(shot, { everyMs: 40, jitter: 1, signal: stop.signal, onError: unexpected });
  const pauses = starts.slice(1).map((start, index) => start - starts[index]!);
  expect(Math.max(...pauses) - Math.min(...pauses)).toBeGreaterThan(20);
});

test('what the server refuses is paid for with a pause of its own length, many times', async () => {
  const stop = new AbortController();
  const pauses: number[] = [];
  const wakeup = new Wakeup();
  const wait = wakeup.wait.bind(wakeup);
  wakeup.wait = (ms, signal) => {
    pauses.push(ms);
    return wait(1, signal);
  };
  const errors = [
    new Error('it is wrong'),
    Object.assign(new Error('no answer'), { code: 'ECONNRESET' }),
    undefined,
  ];
  await every(
    async () => {
      await sleep(30);
      const error = errors.shift();
      if (errors.length === 0) stop.abort();
      if (error !== undefined) throw error;
    },
    { everyMs: 10, signal: stop.signal, onError: () => {}, jitter: 0, wakeup },
  );
  expect(pauses[0]).toBeGreaterThanOrEqual(20 * 29);
  expect(pauses.slice(1)).toEqual([10, 10]);
});
