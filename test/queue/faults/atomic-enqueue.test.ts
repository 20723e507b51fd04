import { expect, test } from 'vitest';
import { randomOf } from '../random.ts';
import { type Session, useDatabase } from '../session.ts';

const queue = useDatabase();

const TRANSACTIONS = Number(process.env.TASKQ_TRANSACTIONS ?? 800);
const PRODUCERS = 8;

/** How a transaction ends; `cut` closes the socket right after the commit was sent: nobody knows whether it went through. */
type End = 'commit' | 'rollback' | 'killed' | 'cut';

function endOf(random: number): End {
  if (random < 0.55) return 'commit';
  if (random < 0.85) return 'rollback';
  return random < 0.93 ? 'killed' : 'cut';
}

async function end(session: Session, how: End): Promise<Session> {
  switch (how) {
    case 'commit':
    case 'rollback':
      await session.rows(how);
      return session;
    case 'killed':
      await expect(session.rows('select pg_terminate_backend(pg_backend_pid())')).rejects.toThrow();
      return queue.session();
    case 'cut': {
      const { stream } = (session.client as unknown as { connection: { stream: { destroy(): void } } })
        .connection;
      const commit = session.rows('commit');
      const cut = commit.catch(() => {});
      setImmediate(() => stream.destroy());
      await cut;
      return queue.session();
    }
    default:
      return how satisfies never;
  }
}

test('tasks are there exactly for the transactions that committed, however these ended', async () => {
  await queue.admin.rows('create table witness (task_id bigint not null)');
  const ends: Record<End, number> = { commit: 0, rollback: 0, killed: 0, cut: 0 };
  const produce = async (producer: number) => {
    const { next: random } = randomOf(producer);
    let session = await queue.session();
    for (let n = 0; n < TRANSACTIONS / PRODUCERS; n++) {
      await session.rows('begin');
      const key =
        random() < 0.3
          ? { key: `k${Math.floor(random() * 20)}`, key_for: random() < 0.2 ? '24h' : 'live' }
          : {};
      const tasks = Array.from({ length: 1 + Math.floor(random() * 3) }, () => ({ type: 'work' }));
      await session.rows(
        'insert into witness select id from taskq.enqueue_many($1) where created',
        JSON.stringify([{ type: 'work', ...key }, ...tasks]),
      );
      const how = endOf(random());
      ends[how]++;
      session = await end(session, how);
    }
    await session.client.end();
  };
  await Promise.all(Array.from({ length: PRODUCERS }, (_, producer) => produce(producer)));
  // A backend that was cut off may still be committing: the lock waits for it.
  await queue.admin.rows('begin; lock table witness, taskq.tasks in access exclusive mode; commit');

  const differing = await queue.admin.rows(
    'select w.task_id, t.id from witness w full join taskq.tasks t on t.id = w.task_id where w.task_id is null or t.id is null',
  );
  expect(differing).toEqual([]);
  expect(await queue.admin.value('select count(*)::int from taskq.tasks')).toBeGreaterThan(TRANSACTIONS / 2);
  const twice =
    'select unique_key from taskq.tasks where unique_key is not null group by queue, unique_key having count(*) > 1';
  expect(await queue.admin.rows(twice)).toEqual([]);
  const orphans =
    'select key from taskq.held_keys h where not exists (select from taskq.tasks t where t.id = h.task_id)';
  expect(await queue.admin.rows(orphans)).toEqual([]);
  for (const count of Object.values(ends)) expect(count).toBeGreaterThan(0);
  await queue.admin.rows('drop table witness');
});

test.each(['live', '24h', 'ever'])(
  'fifty clients with one key (%s) get one task and the same id, also when an answer is lost and asked for again',
  async (keyFor) => {
    const clients = await Promise.all(Array.from({ length: 50 }, () => queue.session()));
    const ask = (session: Session, key: string) =>
      session.row<{ id: string; created: boolean }>(
        "select id, created from taskq.enqueue('work', '{}', $1)",
        { key, key_for: keyFor },
      );
    for (let round = 0; round < 4; round++) {
      const key = `round ${round}`;
      const [cut, ...others] = clients;
      const { stream } = (
        cut!.client as unknown as { connection: { stream: { pause(): void; destroy(): void } } }
      ).connection;
      stream.pause();
      const unheard = expect(ask(cut!, key)).rejects.toThrow();
      const answers = await Promise.all(others.map((session) => ask(session, key)));
      stream.destroy();
      await unheard;
      clients[0] = await queue.session();
      answers.push(await ask(clients[0], key));
      const ids = new Set(answers.map((answer) => answer!.id));
      expect(ids.size).toBe(1);
      expect(answers.filter((answer) => answer!.created).length).toBeLessThanOrEqual(1);
      expect(await queue.admin.rows('select id from taskq.tasks where unique_key = $1', key)).toEqual([
        { id: [...ids][0] },
      ]);
    }
    await Promise.all(clients.map((session) => session.client.end()));
  },
);
