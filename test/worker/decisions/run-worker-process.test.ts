import { expect, test } from 'vitest';
import { runWorkerProcess } from '../../../src/worker/supervise/run-worker-process.ts';

test('a process that cannot be made has died at once, so that its supervisor tries again', async () => {
  const { signal } = new AbortController();
  const end = await runWorkerProcess({
    start: () => {
      throw Object.assign(new Error('spawn ENOMEM'), { code: 'ENOMEM' });
    },
    ...{ onLine: () => {}, onStarted: () => {}, stop: signal, hurry: signal },
  });
  expect(end).toEqual({
    ...{ pid: undefined, exitCode: null, signal: null, inOrder: false, started: false, livedMs: 0 },
  });
});
