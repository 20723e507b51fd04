import { expect, test } from 'vitest';
import type { TaskEvent } from '../../src/index.ts';
import { useLibrary } from './use-queue.ts';

const library = useLibrary();

async function record(...queues: string[]): Promise<void> {
  for (const name of queues)
    await library.admin.rows('select taskq.set_queue($1, $2)', name, { record_events: true });
}

/** Ends a task of this queue and returns its id. */
async function end(queue = 'default'): Promise<string> {
  const id = await library.admin.value<string>("select id from taskq.enqueue('work', '{}', $1)", {
    ...{ queue, tags: { a: 'b' }, group: 'g' },
  });
  await library.admin.rows("select taskq.cancel($1, 'not wanted')", [id]);
  return id;
}

async function take(events: AsyncIterable<TaskEvent>, count: number): Promise<TaskEvent[]> {
  const taken: TaskEvent[] = [];
  for await (const event of events) if (taken.push(event) === count) break;
  return taken;
}

test('yields ends as they come, each with the position from which another reader goes on', async () => {
  await record('default', 'mail');
  const queue = library.open();
  const [first, other] = [await end(), await end('mail')];
  const [event] = await take(queue.events(), 1);
  expect(event).toEqual({
    ...{ id: first, queue: 'default', type: 'work', status: 'cancelled', reason: 'not wanted', attempts: 0 },
    ...{
      key: null,
      group: 'g',
      workflow: null,
      tags: { a: 'b' },
      at: expect.any(Date),
      position: expect.any(String),
    },
  });
  const reading = take(library.open().events({ after: event!.position }), 3);
  const [later, last] = [await end(), await end('mail')];
  expect((await reading).map(({ id }) => id)).toEqual([other, later, last]);
});

test('ends with its signal, and with the queue', async () => {
  await record('default');
  const queue = library.open();
  const stop = new AbortController();
  const ids: string[] = [];
  const reading = async (signal?: AbortSignal) => {
    for await (const { id } of queue.events({ signal })) {
      ids.push(id);
      stop.abort();
    }
  };
  const [first] = [await end(), await end()];
  await reading(stop.signal);
  expect(ids).toEqual([first]);
  const waiting = reading();
  await queue.close();
  await waiting;
});

test('goes on after its connection was lost', async () => {
  await record('default');
  const queue = library.open();
  const events = queue.events()[Symbol.asyncIterator]();
  const first = await end();
  expect((await events.next()).value).toMatchObject({ id: first });
  const next = events.next();
  await library.admin.rows(
    "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name = 'taskq'",
  );
  const second = await end();
  expect((await next).value).toMatchObject({ id: second });
  await events.return?.();
});

test('refuses what is no position, and says what is lost', async () => {
  await record('default');
  const queue = library.open();
  await end();
  const [event] = await take(queue.events(), 1);
  await expect(take(queue.events({ after: 'x' }), 1)).rejects.toMatchObject({ code: 'refused' });
  await library.admin.rows("update taskq.events set at = at + interval '1 second'");
  await expect(take(queue.events({ after: event!.position }), 1)).rejects.toMatchObject({
    code: 'events_lost',
  });
  expect(() => queue.events({ after: 7 as never })).toThrow(/after: expected the position/);
});
