import { expect, test } from 'vitest';
import { addDead } from '../../src/queue/add-dead.ts';
import { discard } from '../../src/queue/discard.ts';
import { enqueueSome, statusOf } from './rows.ts';
import { useDatabase } from './session.ts';

const queue = useDatabase();

test('dead letters are gone for good, what is not dead stays, every id is answered once', async () => {
  const [dead, waiting] = await enqueueSome(queue.admin, 2);
  await addDead(queue.admin, dead!, 'r');
  expect(await discard(queue.admin, ['999999999', waiting!, dead!, dead!])).toEqual([
    { id: dead, answer: 'discarded' },
    { id: waiting, answer: 'not_dead' },
    { id: '999999999', answer: 'not_dead' },
  ]);
  expect(await statusOf(queue.admin, dead!)).toBeUndefined();
  expect(await statusOf(queue.admin, waiting!)).toBe('pending');
  expect(await queue.admin.value('select taskq.show_task($1)', dead)).toBeNull();
});
