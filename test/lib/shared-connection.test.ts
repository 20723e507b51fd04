import { expect, test } from 'vitest';
import { type Connected, sharedConnection } from '../../src/lib/shared-connection.ts';

/** Connections with numbers, and what becomes of them. */
function connections({ failures = 0 } = {}) {
  const done: string[] = [];
  let made = 0;
  const connect = async (): Promise<Connected> => {
    const number = ++made;
    if (number <= failures) throw new Error(`no connection ${number}`);
    done.push(`made ${number}`);
    return {
      ...({ client: number, session: {} } as unknown as Connected),
      release: (broken) =>
        done.push(`released ${number}${broken instanceof Error ? `: ${broken.message}` : ''}`),
    };
  };
  return { take: sharedConnection(connect), done };
}

test('all who ask while somebody has the connection get it, and the last one gives it back', async () => {
  const { take, done } = connections();
  const [first, second] = await Promise.all([take(), take()]);
  expect(second.client).toBe(first.client);
  first.release();
  const third = await take();
  second.release();
  expect(done).toEqual(['made 1']);
  third.release();
  expect(done).toEqual(['made 1', 'released 1']);
  (await take()).release();
  expect(done.slice(2)).toEqual(['made 2', 'released 2']);
});

test('once it is broken, who asks next gets another', async () => {
  const { take, done } = connections();
  const [first, second] = await Promise.all([take(), take()]);
  first.release(new Error('it broke'));
  const third = await take();
  expect(third.client).not.toBe(second.client);
  second.release();
  third.release();
  expect(done).toEqual(['made 1', 'made 2', 'released 1: it broke', 'released 2']);
});

test('if it cannot be made, all who wait learn of it, and who asks next tries again', async () => {
  const { take, done } = connections({ failures: 1 });
  const ends = await Promise.allSettled([take(), take()]);
  expect(ends.map((end) => end.status === 'rejected' && end.reason.message)).toEqual([
    'no connection 1',
    'no connection 1',
  ]);
  (await take()).release();
  expect(done).toEqual(['made 2', 'released 2']);
});
