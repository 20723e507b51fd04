import { expect, test } from 'vitest';
import { inspectMainThread } from '../../src/worker/watchdog/inspect-main-thread.ts';

test('a main thread that cannot be asked is one that does not answer', async () => {
  // A thread cannot ask itself: the inspector throws.
  expect(await inspectMainThread(10)).toBeUndefined();
});
