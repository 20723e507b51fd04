import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { type Session, useDatabase } from './session.ts';
import { patiently, waitUntilBlocked } from './waiting.ts';
import { claimOne, outcome, registerWorker } from './worker.ts';

const queue = useDatabase();

interface Answer {
  readonly id: string;
  readonly created: boolean;
  readonly extra: object | null;
}

function enqueue(options: object, session: Session = queue.admin): Promise<Answer> {
  return session.row<Answer>("select * from taskq.enqueue('work', '1', $1)", {
    key: 'k',
    ...options,
  }) as Promise<Answer>;
}

/** The hours for which keys are held, `ever`, or null: no longer than by a live task. */
async function periods(): Promise<unknown[]> {
  const rows = await queue.admin.rows<{ hours: string | null }>(
    `select case when h.until = 'infinity' then 'ever'
       else round(extract(epoch from h.until - clock_timestamp()) / 3600)::text end as hours
     from taskq.held_keys h order by h.queue, h.key`,
  );
  return rows.map(({ hours }) => hours);
}

/** In a transaction that is not committed yet: a task that has the key for a while, and ends. */
async function taken(options: object): Promise<Session> {
  const taker = await queue.session();
  await taker.rows('begin');
  const { id } = await enqueue(options, taker);
  await taker.rows('select taskq.cancel(array[$1::bigint])', id);
  return taker;
}

const held = (id: string) =>
  queue.admin.value<number>('select count(*)::int from taskq.tasks where id = $1', id);

describe('the period of a key', () => {
  const elements = ['ignore', 'replace', 'preserve'].flatMap((on_held) =>
    [{}, { key_for: 'live' }, { key_for: '1h' }, { key_for: 'ever' }].map((period) => ({
      on_held,
      ...period,
    })),
  );
  const before = [[], [{}], [{ key_for: '2h' }]];

  test('is after a bulk what it is after its tasks one by one', async () => {
    const found: object[] = [];
    const wanted: object[] = [];
    for (const holders of before)
      for (const first of elements)
        for (const second of elements) {
          const last = elements[found.length % elements.length]!;
          const tasks = [first, second, last];
          const reset = async () => {
            await queue.admin.rows('delete from taskq.held_keys');
            await queue.admin.rows('delete from taskq.tasks');
            for (const holder of holders) await enqueue(holder);
          };
          await reset();
          for (const task of tasks) await enqueue(task);
          wanted.push({ holders, tasks, periods: await periods() });
          await reset();
          await queue.admin.rows(
            'select taskq.enqueue_many($1)',
            JSON.stringify(tasks.map((task) => ({ type: 'work', key: 'k', ...task }))),
          );
          found.push({ holders, tasks, periods: await periods() });
        }
    expect(found).toEqual(wanted);
  });

  test('ends with a task that replaces the holder and has the key while it lives', async () => {
    await enqueue({ key_for: 'ever' });
    await enqueue({ on_held: 'replace' });
    expect(await periods()).toEqual(['ever']);
    await enqueue({ on_held: 'ignore', key_for: 'live' });
    expect(await periods()).toEqual(['ever']);
    await enqueue({ on_held: 'replace', key_for: 'live' });
    expect(await periods()).toEqual([]);
  });

  test.each(['ignore', 'replace'])(
    'is over for a task that has waited for that long (%s)',
    async (on_held) => {
      const taker = await taken({ key_for: 300 });
      const enqueuing = enqueue({ on_held }, await queue.session());
      await waitUntilBlocked(queue.admin);
      await sleep(400);
      await taker.rows('commit');
      const { id, created } = await enqueuing;
      expect({ created, live: await held(id) }).toEqual({ created: true, live: 1 });
    },
  );
});

describe('a key that was taken for ever, by a task that has ended', () => {
  test.each([
    ['repeatable read', 'ignore'],
    ['repeatable read', 'replace'],
    ['serializable', 'ignore'],
  ])('is not overlooked by an older snapshot (%s, %s)', async (level, on_held) => {
    const session = await queue.session();
    await session.rows(`begin isolation level ${level}`);
    await session.rows('select from taskq.defaults');
    const { id } = await enqueue({ key_for: 'ever' });
    const worker = await registerWorker(queue.admin);
    await worker.settle(outcome(await claimOne(worker), 'completed'));
    await expect(enqueue({ on_held }, session)).rejects.toMatchObject({ code: '40001' });
    await session.rows('rollback');
    await session.rows(`begin isolation level ${level}`);
    expect(await enqueue({}, session)).toMatchObject({ id, created: false });
    expect(await enqueue({ key: 'other', on_held }, session)).toMatchObject({ created: true });
    await session.rows('commit');
    expect(await periods()).toEqual(['ever']);
  });

  test('keeps a step from coming back while that was not committed', async () => {
    const workflow = await queue.admin.value<string>(
      `select id from taskq.run_workflow('{"name": "n", "steps": [{"step": "s", "type": "work", "key": "k"}]}')`,
    );
    await queue.admin.rows('select taskq.cancel(array(select id from taskq.tasks))');
    const taker = await taken({ key_for: 'ever' });
    const retried = (await queue.session()).rows('select * from taskq.retry_workflow($1)', workflow);
    await waitUntilBlocked(queue.admin);
    await taker.rows('commit');
    expect(await retried).toMatchObject([{ step: 's', answer: 'key_held' }]);
    expect(await queue.admin.value('select count(*)::int from taskq.tasks')).toBe(0);
  });

  test('keeps a task from moving there while that was not committed', async () => {
    const { id } = await enqueue({ queue: 'from' });
    const taker = await taken({ queue: 'to', key_for: 'ever' });
    const session = await queue.session();
    await patiently(queue.admin, ['move_tasks', 'edit'], async () => {
      const edited = session.rows(`select * from taskq.edit(array[$1::bigint], '{"queue": "to"}')`, id);
      await waitUntilBlocked(queue.admin);
      await taker.rows('commit');
      expect(await edited).toMatchObject([{ id, answer: 'key_held', extra: { key: 'k' } }]);
    });
    expect(await queue.admin.value('select queue from taskq.tasks where id = $1', id)).toBe('from');
  });
});

test('a task whose key another one takes at that moment stays where it is: busy, or its key is held', async () => {
  const session = await queue.session();
  const taker = await queue.session();
  for (const ms of [60, 70, 80, 90]) {
    await queue.admin.rows('delete from taskq.tasks');
    const { id } = await enqueue({ queue: 'from' });
    await taker.rows('begin');
    await enqueue({ queue: 'to' }, taker);
    const edited = session.value<string>(
      `select answer from taskq.edit(array[$1::bigint], '{"queue": "to"}')`,
      id,
    );
    await sleep(ms);
    await taker.rows('commit');
    expect(['busy', 'key_held']).toContain(await edited);
    expect(await queue.admin.value('select queue from taskq.tasks where id = $1', id)).toBe('from');
  }
});

test('steps that come back one by one take their keys in the order of a bulk', async () => {
  const steps = [
    { step: 'a', type: 'work', key: 'z' },
    { step: 'b', type: 'work', key: 'y' },
    { step: 'c', type: 'work', payload: { refuse: 1 } },
  ];
  const workflow = await queue.admin.value<string>('select id from taskq.run_workflow($1)', {
    name: 'n',
    steps,
  });
  await queue.admin.rows('select taskq.cancel(array(select id from taskq.tasks))');
  await queue.admin.rows(
    `create function pg_temp.refuse() returns trigger language plpgsql as $$
       begin raise exception 'refused' using errcode = 'check_violation'; end $$`,
  );
  await queue.admin.rows(
    `create trigger refuse before insert on taskq.tasks for each row when (new.payload ? 'refuse')
     execute function pg_temp.refuse()`,
  );
  try {
    const first = await queue.session();
    await first.rows('begin');
    await enqueue({ key: 'yy' }, first);
    const tasks = ['y', 'yy', 'z'].map((key) => ({ type: 'work', key, on_held: 'replace' }));
    const bulk = (await queue.session()).rows('select * from taskq.enqueue_many($1)', JSON.stringify(tasks));
    await waitUntilBlocked(queue.admin);
    const retried = (await queue.session()).rows<{ step: string; answer: string }>(
      'select step, answer from taskq.retry_workflow($1) order by step',
      workflow,
    );
    await waitUntilBlocked(queue.admin, 2);
    await first.rows('commit');
    expect(await bulk).toHaveLength(3);
    const answers = await retried;
    expect(answers[2]).toEqual({ step: 'c', answer: 'refused' });
  } finally {
    await queue.admin.rows('drop trigger refuse on taskq.tasks');
  }
});

test('a task that keeps its time, but not its priority, comes after what is due at the new one', async () => {
  await enqueue({ priority: 9 });
  const now = await queue.admin.value<string>('select clock_timestamp()::text');
  const isDueBefore = () =>
    queue.admin.value<boolean>('select available_at < $1::timestamptz from taskq.tasks', now);
  await enqueue({ priority: 9, on_held: 'preserve' });
  expect(await isDueBefore()).toBe(true);
  await enqueue({ priority: 5, on_held: 'preserve' });
  expect(await isDueBefore()).toBe(false);
});

test('a task of a group that cannot replace a holder without one is told so', async () => {
  const { id } = await enqueue({});
  await expect(enqueue({ on_held: 'replace', group: 'g' })).rejects.toThrow(
    `task ${id} of no group holds the key "k", which a task of another group cannot replace`,
  );
});

describe('a holder that has expired and waits for housekeeping', () => {
  const expiredHolder = async (options: object = {}) => {
    const { id } = await enqueue({ expires_ms: 1, ...options });
    await sleep(2);
    return id;
  };
  const claimed = async () => (await registerWorker(queue.admin)).claim({ start: 10 });

  test.each(['ignore', 'replace', 'preserve'])('is replaced by the next task: %s', async (on_held) => {
    const id = await expiredHolder({ max_attempts: 1 });
    const answer = await queue.admin.row<Answer>("select * from taskq.enqueue('work', '2', $1)", {
      ...{ key: 'k', on_held, expires_ms: 60_000 },
    });
    expect(answer).toEqual({ id, created: false, extra: { answer: 'replaced' } });
    const row = await queue.admin.row(
      'select max_attempts, expires_at > now() as can_start from taskq.tasks',
    );
    expect(row).toEqual({ max_attempts: null, can_start: true });
    expect(await claimed()).toMatchObject([{ id, payload: 2 }]);
  });

  test.each(['ignore', 'replace'])(
    'is replaced by a task of a bulk in which another has the policy %s',
    async (on_held) => {
      await expiredHolder();
      const tasks = [
        { payload: 'a', key: 'a' },
        { payload: 'k', key: 'k', on_held: 'ignore' },
        { payload: 'again', key: 'k', on_held: 'ignore' },
        { payload: 'none' },
      ].map((task) => ({ type: 'work', ...(task.key && { on_held }), ...task }));
      const answers = await queue.admin.rows(
        'select place, created, extra from taskq.enqueue_many($1) order by place',
        JSON.stringify(tasks),
      );
      expect(answers).toMatchObject([
        { created: true },
        { created: false, extra: { answer: 'replaced' } },
        { created: false, extra: null },
        { created: true },
      ]);
      const payloads = (await claimed()).map(({ payload }) => payload);
      expect(payloads.toSorted()).toEqual(['a', 'k', 'none']);
    },
  );

  test('has the period of the task that replaces it', async () => {
    await expiredHolder();
    await enqueue({ key_for: '1h' });
    expect(await periods()).toEqual(['1']);
  });

  test('keeps out tasks of another group', async () => {
    const id = await expiredHolder();
    expect(await enqueue({ group: 'ann' })).toMatchObject({ id, created: false, extra: null });
  });

  test('does not let producers of its keys deadlock', async () => {
    await expiredHolder({ key: 'b' });
    const [first, second] = [await queue.session(), await queue.session()];
    const bulk = (keys: readonly string[], session: Session) =>
      session.rows(
        'select created from taskq.enqueue_many($1)',
        JSON.stringify(keys.map((key) => ({ type: 'work', payload: 1, key }))),
      );
    await first.rows('begin');
    await bulk(['a'], first);
    const both = bulk(['a', 'b'], second);
    await waitUntilBlocked(queue.admin);
    await bulk(['b'], first);
    await first.rows('commit');
    expect(await both).toEqual([{ created: false }, { created: false }]);
  });
});
