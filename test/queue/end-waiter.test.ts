import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { EndWaiter } from '../../src/queue/protocol/end-waiter.ts';

interface End {
  readonly id: string;
  readonly live: boolean;
}

/** A waiter on a database whose answers the test gives. */
function scripted() {
  const answers: ((ends: End[]) => void)[] = [];
  const source = {
    channel: 'ends',
    ask: async () => {},
    get: () => new Promise<End[]>((resolve) => answers.push(resolve)),
  };
  const waiter = new EndWaiter({ source, db: {} as never, connection: undefined, applicationName: 'test' });
  return { waiter, answers };
}

test('whoever waits while an answer is on its way is not told of what was before', async () => {
  const { waiter, answers } = scripted();
  const first = waiter.wait('1');
  await turn();
  expect(answers).toHaveLength(1);
  // It was dead when the server answered, and is revived before the answer comes.
  const second = waiter.wait('1');
  answers[0]!([{ id: '1', live: false }]);
  expect(await first).toEqual({ kind: 'ended', end: { id: '1', live: false } });
  await expect.poll(() => answers).toHaveLength(2);
  answers[1]!([]);
  expect(await second).toEqual({ kind: 'gone' });
});

test('a wait that begins after it was closed fails with the reason, and looks at nothing', async () => {
  const { waiter, answers } = scripted();
  const why = new Error('closed');
  await waiter.close(why);
  await expect(waiter.wait('1')).rejects.toBe(why);
  expect(answers).toEqual([]);
});
