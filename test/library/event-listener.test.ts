import { once } from 'node:events';
import { expect, test } from 'vitest';
import { listenerLog } from '../../src/library/event-listener.ts';

/** A value that cannot even be printed. */
const UNPRINTABLE = {
  toString() {
    throw new Error('not even this');
  },
};

test.each([
  [
    'throws',
    () => {
      throw UNPRINTABLE;
    },
  ],
  ['rejects with', () => Promise.reject(UNPRINTABLE)],
])('a listener that %s what cannot be printed changes nothing, and is a warning', async (_, listener) => {
  const warned = once(process, 'warning');
  const log = listenerLog(listener, 'info');
  log.event('worker.resumed');
  log.event('worker.resumed');
  expect(await warned).toMatchObject([
    { name: 'TaskqWarning', message: 'the listener of a taskq worker threw: an object' },
  ]);
});
