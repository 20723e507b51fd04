import { describe, expect, test } from 'vitest';
import { enqueue, finishedRow, liveRow, rescueAll, statusOf } from './rows.ts';
import { type Session, useDatabase } from './session.ts';
import { waitUntilBlocked } from './waiting.ts';
import { claimOne, outcome, registerWorker } from './worker.ts';

const queue = useDatabase();

interface Answer {
  readonly id: string;
  readonly created: boolean;
  readonly extra: { readonly answer: string; readonly next_id?: string; readonly type?: string } | null;
}

const REPLACED = { answer: 'replaced' };

/** Enqueues one task of type `work` with the key `k`, which replaces the holder by default. */
function replace(
  payload: unknown,
  options: object = {},
  session: Session = queue.admin,
  type = 'work',
): Promise<Answer> {
  return session.row<Answer>('select * from taskq.enqueue($1, $2, $3)', type, JSON.stringify(payload), {
    key: 'k',
    on_held: 'replace',
    ...options,
  }) as Promise<Answer>;
}

function many(
  tasks: readonly object[],
  options: object = {},
  session: Session = queue.admin,
): Promise<Answer[]> {
  return session.rows<Answer>(
    'select id, created, extra from taskq.enqueue_many($1, $2) order by place',
    JSON.stringify(tasks.map((task) => ({ type: 'work', ...task }))),
    options,
  );
}

/** The live tasks, as far as replacing is concerned. */
function live(): Promise<{ id: string; payload: unknown }[]> {
  return queue.admin.rows('select id, payload from taskq.tasks order by id');
}

describe('a task whose holder waits', () => {
  test('replaces it under its id, with payload, options and time, and with all attempts anew', async () => {
    const worker = await registerWorker(queue.admin);
    const first = await replace({ n: 1 }, { delay_ms: 60_000, priority: 3, tags: { a: 'b' }, expires_ms: 5 });
    expect(first).toEqual({ id: expect.any(String), created: true, extra: null });
    await queue.admin.rows('update taskq.tasks set available_at = clock_timestamp(), expires_at = null');
    await worker.settle(outcome(await claimOne(worker), 'failed', { error: { message: 'no' } }));
    const second = await replace({ n: 2 }, { delay_ms: 3_600_000, max_attempts: 7 });
    expect(second).toEqual({ id: first.id, created: false, extra: REPLACED });
    expect(await liveRow(queue.admin, first.id)).toMatchObject({
      ...{
        payload: { n: 2 },
        priority: 2,
        tags: null,
        max_attempts: 7,
        attempts: 0,
        error: null,
        again: null,
      },
      ...{ started_at: null, status: 'pending', unique_key: 'k', expires_at: null },
    });
    const wait =
      'select extract(epoch from available_at - clock_timestamp())::float as wait from taskq.tasks';
    expect(await queue.admin.value<number>(wait)).toBeGreaterThan(3590);
  });

  test('keeps its time under preserve', async () => {
    const { id } = await replace({ n: 1 }, { delay_ms: 60_000 });
    const before = await liveRow(queue.admin, id);
    const answer = await replace({ n: 2 }, { on_held: 'preserve', delay_ms: 5, expires_ms: 1000 });
    expect(answer).toEqual({ id, created: false, extra: REPLACED });
    const after = (await liveRow(queue.admin, id)) as { available_at: Date; expires_at: Date };
    expect(after).toMatchObject({
      payload: { n: 2 },
      available_at: before!.available_at,
      not_before: before!.not_before,
    });
    expect(after.expires_at.getTime()).toBe(after.available_at.getTime() + 1000);
  });

  test.each(['replace', 'preserve'])('that lost its worker stays a suspect: %s', async (policy) => {
    const { id } = await replace({ n: 1 });
    await queue.admin.rows('update taskq.tasks set losses = 2, lost_ahead = 3, releases = 9');
    await replace({ n: 2 }, { on_held: policy });
    expect(await liveRow(queue.admin, id)).toMatchObject({ losses: 1, lost_ahead: null, releases: 0 });
  });

  test('is ignored without the option, as ever', async () => {
    const { id } = await replace({ n: 1 });
    expect(await replace({ n: 2 }, { on_held: 'ignore' })).toEqual({ id, created: false, extra: null });
    expect(await replace({ n: 3 }, { on_held: null })).toEqual({ id, created: false, extra: null });
    expect(await live()).toEqual([{ id, payload: { n: 1 } }]);
  });
});

describe('a task whose holder runs', () => {
  const ENDS = {
    completed: { outcome: 'completed' },
    dead: { outcome: 'dead', reason: 'no' },
    cancelled: { outcome: 'cancelled' },
    'failed for good': { outcome: 'failed', spent: true },
  };

  test.each(Object.entries(ENDS))('runs after it, with the last payload, when it is %s', async (_, end) => {
    const worker = await registerWorker(queue.admin);
    const { id } = await replace({ n: 1 }, 'spent' in end ? { max_attempts: 1 } : {});
    const task = await claimOne(worker);
    const first = await replace({ n: 2 }, { priority: 1 });
    expect(first).toEqual({
      id,
      created: false,
      extra: { answer: 'again', next_id: expect.stringMatching(/^\d+$/) },
    });
    const second = await replace({ n: null }, { priority: 4, tags: { a: 'b' } });
    expect(second).toEqual(first);
    expect(await liveRow(queue.admin, id)).toMatchObject({ payload: { n: 1 }, status: 'running' });
    const [answer] = await worker.settle(outcome(task, end.outcome, end));
    expect(answer).toMatchObject({ answer: 'recorded' });
    const next = first.extra!.next_id!;
    expect(await live()).toEqual([{ id: next, payload: { n: null } }]);
    expect(await liveRow(queue.admin, next)).toMatchObject({
      ...{ status: 'pending', unique_key: 'k', priority: 4, tags: { a: 'b' }, attempts: 0, lease_no: 0 },
      ...{ again: null, lease_owner: null, payload_bytes: 11 },
    });
    expect(await statusOf(queue.admin, id)).toBe(
      { completed: 'completed', dead: 'dead', cancelled: 'cancelled', failed: 'dead' }[end.outcome],
    );
    expect(await claimOne(worker)).toMatchObject({ id: next, payload: { n: null } });
  });

  test.each([
    ['failed', {}],
    ['snoozed', { delay_ms: 60_000 }],
  ])('replaces it at once where it waits again: %s', async (kind, more) => {
    const worker = await registerWorker(queue.admin);
    const { id } = await replace({ n: 1 });
    const task = await claimOne(worker);
    await replace({ n: 2 });
    const [answer] = await worker.settle(outcome(task, kind, more));
    expect(answer).toMatchObject({ answer: 'recorded', extra: { status: 'pending', attempts: 0 } });
    expect(await live()).toEqual([{ id, payload: { n: 2 } }]);
    expect(await claimOne(worker)).toMatchObject({ id, attempts: 0, payload: { n: 2 } });
  });

  test('waits as long as it does where it waits again, under preserve', async () => {
    const worker = await registerWorker(queue.admin);
    const { id } = await replace({ n: 1 });
    const task = await claimOne(worker);
    await replace({ n: 2 }, { on_held: 'preserve' });
    await worker.settle(outcome(task, 'snoozed', { delay_ms: 60_000 }));
    expect(await liveRow(queue.admin, id)).toMatchObject({ payload: { n: 2 }, attempts: 0, again: null });
    expect(await worker.claim()).toEqual([]);
  });

  test('keeps the time of the first that runs after it, under preserve', async () => {
    const worker = await registerWorker(queue.admin);
    await replace({ n: 1 });
    const task = await claimOne(worker);
    const { extra } = await replace({ n: 2 }, { delay_ms: 60_000 });
    await replace({ n: 3 }, { on_held: 'preserve', delay_ms: 7_200_000, expires_ms: 1000 });
    await worker.settle(outcome(task, 'completed'));
    const next = (await liveRow(queue.admin, extra!.next_id!)) as { available_at: Date; expires_at: Date };
    expect(next).toMatchObject({ payload: { n: 3 } });
    const waits = next.available_at.getTime() - Date.now();
    expect(waits).toBeGreaterThan(50_000);
    expect(waits).toBeLessThan(61_000);
    expect(next.expires_at.getTime() - next.available_at.getTime()).toBe(1000);
  });

  test.each(['give-back', 'rescue'])('replaces it after a %s', async (how) => {
    const worker = await registerWorker(queue.admin);
    const { id } = await replace({ n: 1 });
    const task = await claimOne(worker);
    await replace({ n: 2 });
    if (how === 'give-back') await worker.giveBack([task]);
    else {
      await queue.admin.rows("update taskq.tasks set lease_owner = 77, lease_expires_at = '2020-01-01'");
      await rescueAll(queue.admin);
    }
    expect(await live()).toEqual([{ id, payload: { n: 2 } }]);
    expect(await claimOne(worker)).toMatchObject({ id, payload: { n: 2 } });
  });

  test('runs after it although its worker was lost for the last time', async () => {
    const worker = await registerWorker(queue.admin);
    const { id } = await replace({ n: 1 });
    await claimOne(worker);
    const { extra } = await replace({ n: 2 });
    await queue.admin.rows(
      "update taskq.tasks set losses = 2, lease_owner = 77, lease_expires_at = '2020-01-01'",
    );
    await rescueAll(queue.admin);
    expect(await statusOf(queue.admin, id)).toBe('dead');
    expect(await live()).toEqual([{ id: extra!.next_id, payload: { n: 2 } }]);
  });

  test('runs after it although it was to be cancelled', async () => {
    const worker = await registerWorker(queue.admin);
    const { id } = await replace({ n: 1 });
    const task = await claimOne(worker);
    await queue.admin.rows('select from taskq.cancel($1)', [id]);
    const { extra } = await replace({ n: 2 });
    await worker.settle(outcome(task, 'failed'));
    expect(await statusOf(queue.admin, id)).toBe('cancelled');
    expect(await live()).toEqual([{ id: extra!.next_id, payload: { n: 2 } }]);
  });

  test('may be due long before it can start: it expires as long after as it would have', async () => {
    const worker = await registerWorker(queue.admin);
    await replace({ n: 1 });
    const task = await claimOne(worker);
    const { extra } = await replace({ n: 2 }, { expires_ms: 60_000 });
    await queue.admin.rows(`update taskq.tasks set again = again
      || '{"available_at": "2020-01-01T00:00:00Z", "not_before": "2020-01-01T00:00:00Z", "expires_at": "2020-01-01T00:01:00Z"}'`);
    await worker.settle(outcome(task, 'completed'));
    const next = (await liveRow(queue.admin, extra!.next_id!)) as { available_at: Date; expires_at: Date };
    expect(next.available_at.getTime()).toBeGreaterThan(Date.now() - 30_000);
    expect(next.expires_at.getTime() - next.available_at.getTime()).toBe(60_000);
  });
});

describe('a task of another type', () => {
  test('does not replace the holder: it is refused, and nothing changes', async () => {
    await queue.admin.rows("select taskq.add_types('{other}')");
    const { id } = await replace({ n: 1 });
    await expect(replace({ n: 2 }, {}, queue.admin, 'other')).rejects.toMatchObject({
      code: '22023',
      constraint: 'a_task_is_replaced_by_its_type',
      message: `enqueue: task ${id} of type "work" holds the key "k", which a task of another type ("other") cannot replace`,
    });
    expect(await live()).toEqual([{ id, payload: { n: 1 } }]);
  });

  test('in a bulk has this for an answer, and the others are enqueued', async () => {
    await queue.admin.rows("select taskq.add_types('{other}')");
    const { id } = await replace({ n: 1 });
    const answers = await many(
      [{ type: 'other', key: 'k' }, { key: 'free' }, { key: 'k', payload: { n: 3 } }, { payload: { n: 4 } }],
      { on_held: 'replace' },
    );
    expect(answers).toEqual([
      { id, created: false, extra: { answer: 'key_of_another', type: 'work', group: null } },
      { id: expect.any(String), created: true, extra: null },
      { id, created: false, extra: REPLACED },
      { id: expect.any(String), created: true, extra: null },
    ]);
    expect((await live()).map(({ payload }) => payload)).toEqual([{ n: 3 }, {}, { n: 4 }]);
  });
});

describe('a task of a group', () => {
  test('is not replaced by one of another group, or of none', async () => {
    const { id } = await replace({ n: 1 }, { group: 'g' });
    for (const options of [{ group: 'h' }, {}])
      await expect(replace({ n: 2 }, options)).rejects.toMatchObject({
        code: '22023',
        message: `enqueue: task ${id} of group "g" holds the key "k", which a task of another group cannot replace`,
      });
  });

  test('is replaced while it waits, and is followed while it runs, within its group', async () => {
    await queue.admin.rows(`select from taskq.set_queue('default', '{"group_limit": 1}')`);
    const worker = await registerWorker(queue.admin);
    const { id } = await replace({ n: 1 }, { group: 'g' });
    expect(await replace({ n: 2 }, { group: 'g' })).toMatchObject({ id, extra: REPLACED });
    const task = await claimOne(worker);
    expect(task).toMatchObject({ id, payload: { n: 2 } });
    await replace({ n: 3 }, { group: 'g' });
    await worker.settle(outcome(task, 'failed', { delay_ms: 3_600_000 }));
    const retried = await claimOne(worker);
    expect(retried).toMatchObject({ id, payload: { n: 3 }, attempts: 0 });
    const { extra } = await replace({ n: 4 }, { group: 'g' });
    await worker.settle(outcome(retried, 'completed'));
    expect(await claimOne(worker)).toMatchObject({ id: extra!.next_id, payload: { n: 4 } });
  });
});

describe('a key held for a period', () => {
  test('by a task that has ended is not replaced', async () => {
    const worker = await registerWorker(queue.admin);
    const { id } = await replace({ n: 1 }, { key_for: '1h' });
    await worker.settle(outcome(await claimOne(worker), 'completed'));
    expect(await replace({ n: 2 })).toEqual({ id, created: false, extra: null });
    expect(await many([{ key: 'k' }, { key: 'k' }], { on_held: 'replace' })).toEqual([
      { id, created: false, extra: null },
      { id, created: false, extra: null },
    ]);
    expect(await live()).toEqual([]);
  });

  test('is held by the task that runs after its holder, for the period of the last that gives one', async () => {
    const worker = await registerWorker(queue.admin);
    const held =
      'select task_id, extract(epoch from until - clock_timestamp())::float as left from taskq.held_keys';
    const { id } = await replace({ n: 1 }, { key_for: '1h' });
    expect(await queue.admin.row(held)).toEqual({ task_id: id, left: expect.closeTo(3600, -2) });
    const task = await claimOne(worker);
    const { extra } = await replace({ n: 2 }, { key_for: '2h' });
    await replace({ n: 3 });
    await worker.settle(outcome(task, 'completed'));
    expect(await queue.admin.row(held)).toEqual({ task_id: extra!.next_id, left: expect.closeTo(7200, -2) });
    await worker.settle(outcome(await claimOne(worker), 'completed'));
    expect(await replace({ n: 4 })).toMatchObject({ id: extra!.next_id, created: false, extra: null });
  });
});

describe('a key that is released while a bulk waits for another one', () => {
  /** Enqueues a bulk that is to replace the holders of `a` and `b`, of which an open transaction has just taken `b`. */
  async function waitingBulk(): Promise<{ readonly answers: Promise<Answer[]>; readonly open: Session }> {
    const worker = await registerWorker(queue.admin);
    await replace({ n: 1 }, { key: 'a', key_for: '1h' });
    await worker.settle(outcome(await claimOne(worker), 'completed'));
    const [open, bulk] = await Promise.all([queue.session(), queue.session()]);
    await open.rows('begin');
    await replace({ n: 2 }, { key: 'b' }, open);
    const answers = many(
      ['a', 'b'].map((key) => ({ key, payload: { key } })),
      { on_held: 'replace' },
      bulk,
    );
    await waitUntilBlocked(queue.admin);
    await queue.admin.rows("select from taskq.release_key('default', 'a')");
    return { answers, open };
  }

  test('is taken by the bulk after all', async () => {
    const { answers, open } = await waitingBulk();
    await open.rows('commit');
    const [a, b] = await answers;
    expect(a).toEqual({ id: expect.any(String), created: true, extra: null });
    expect(b).toMatchObject({ created: false, extra: REPLACED });
    expect(await live()).toEqual(
      expect.arrayContaining([
        { id: a!.id, payload: { key: 'a' } },
        { id: b!.id, payload: { key: 'b' } },
      ]),
    );
  });

  test('has its new holder replaced, if another producer has taken it', async () => {
    const { answers, open } = await waitingBulk();
    const { id } = await replace({ n: 3 }, { key: 'a' });
    await open.rows('commit');
    expect(await answers).toMatchObject([
      { id, created: false, extra: REPLACED },
      { created: false, extra: REPLACED },
    ]);
    expect(await live()).toContainEqual({ id, payload: { key: 'a' } });
  });

  test('is refused to the bulk, if a task of another type has taken it', async () => {
    await queue.admin.rows("select taskq.add_types('{other}')");
    const { answers, open } = await waitingBulk();
    const { id } = await replace({ n: 3 }, { key: 'a' }, queue.admin, 'other');
    await open.rows('commit');
    expect(await answers).toMatchObject([
      { id, created: false, extra: { answer: 'key_of_another', type: 'other' } },
      { created: false, extra: REPLACED },
    ]);
  });
});

describe('tasks of the same key in one bulk', () => {
  const alike = (policies: readonly string[]) =>
    policies.map((on_held, n) => ({ key: 'k', on_held, payload: { n }, delay_ms: 1000 * (n + 1) }));
  const seen = async () => {
    const [row] = await queue.admin.rows<{ payload: { n: number }; seconds: string }>(
      'select payload, round(extract(epoch from not_before - created_at))::int as seconds from taskq.tasks',
    );
    return { ...row!.payload, seconds: row!.seconds };
  };

  test.each([
    [['ignore', 'ignore', 'ignore'], { n: 0, seconds: 1 }, [null, null]],
    [['replace', 'replace', 'replace'], { n: 2, seconds: 3 }, [REPLACED, REPLACED]],
    [['ignore', 'replace', 'ignore'], { n: 1, seconds: 2 }, [REPLACED, null]],
    [['ignore', 'preserve', 'preserve'], { n: 2, seconds: 1 }, [REPLACED, REPLACED]],
    [['ignore', 'replace', 'preserve'], { n: 2, seconds: 2 }, [REPLACED, REPLACED]],
  ])('%j', async (policies, expected, extras) => {
    const answers = await many(alike(policies));
    expect(answers.map(({ created }) => created)).toEqual([true, false, false]);
    expect(new Set(answers.map(({ id }) => id)).size).toBe(1);
    expect(answers.slice(1).map(({ extra }) => extra)).toEqual(extras);
    expect(await seen()).toEqual(expected);
  });

  test('of another group do not replace the first one', async () => {
    const [first, second, third] = await many(
      ['g', 'h', 'g'].map((group, n) => ({ key: 'k', on_held: 'replace', payload: { n }, group })),
    );
    expect(first).toMatchObject({ created: true });
    expect(second).toEqual({
      id: first!.id,
      created: false,
      extra: { answer: 'key_of_another', type: 'work', group: 'g' },
    });
    expect(third).toEqual({ id: first!.id, created: false, extra: REPLACED });
    expect(await liveRow(queue.admin, first!.id)).toMatchObject({ payload: { n: 2 }, group_key: 'g' });
  });

  test('do one after the other what they would do alone, whatever holds the key', async () => {
    const worker = await registerWorker(queue.admin);
    await enqueue(queue.admin, { key: 'k' });
    const task = await claimOne(worker);
    const answers = await many(alike(['replace', 'ignore', 'replace']));
    const extra = { answer: 'again', next_id: expect.any(String) };
    expect(answers).toMatchObject([{ extra }, { extra: null }, { extra }]);
    await worker.settle(outcome(task, 'completed'));
    expect(await live()).toEqual([{ id: answers[0]!.extra!.next_id, payload: { n: 2 } }]);
  });
});

test('a task with `again` that was made unreadable by hand ends, and others with it', async () => {
  const worker = await registerWorker(queue.admin);
  for (const key of ['a', 'b', 'c', 'd']) await replace({ key }, { key });
  const tasks = await worker.claim({ start: 4 });
  for (const key of ['a', 'b', 'c', 'd']) await replace({ again: key }, { key });
  await queue.admin.rows("update taskq.tasks set again = '5' where unique_key = 'a'");
  await queue.admin.rows(
    "update taskq.tasks set again = again || '{\"priority\": 77}' where unique_key = 'b'",
  );
  const answers = await worker.settle(
    ...tasks.map((task, n) => outcome(task, n < 3 ? 'completed' : 'failed')),
  );
  expect(answers.map(({ answer }) => answer)).toEqual(['recorded', 'recorded', 'recorded', 'recorded']);
  expect((await live()).map(({ payload }) => payload)).toEqual(
    expect.arrayContaining([{ again: 'c' }, { again: 'd' }]),
  );
  expect(await live()).toHaveLength(2);
});

describe('a task that cannot be inserted when its holder has ended', () => {
  test('because a trigger refuses it, becomes a dead letter, and all ends are recorded', async () => {
    const worker = await registerWorker(queue.admin);
    for (const key of ['a', 'b']) await replace({ n: 1 }, { key });
    const tasks = await worker.claim({ start: 2 });
    const next = await replace({ n: 2 }, { key: 'a' });
    await replace({ n: 3 }, { key: 'b' });
    await queue.admin.rows(`
      create function public.refuse() returns trigger language plpgsql as
        $$ begin if new.unique_key = 'a' then raise 'not now'; end if; return new; end $$;
      create trigger refuse before insert on taskq.tasks for each row execute function public.refuse()`);
    try {
      const answers = await worker.settle(...tasks.map((task) => outcome(task, 'completed')));
      expect(answers.map(({ answer }) => answer)).toEqual(['recorded', 'recorded']);
    } finally {
      await queue.admin.rows('drop function public.refuse cascade');
    }
    expect((await live()).map(({ payload }) => payload)).toEqual([{ n: 3 }]);
    expect(await queue.admin.rows('select id, reason, payload from taskq.dead_tasks')).toEqual([
      { id: next.extra!.next_id, reason: 'could not be inserted: not now', payload: { n: 2 } },
    ]);
    expect(await replace({ n: 4 }, { key: 'a' })).toMatchObject({ created: true });
  });

  test('because its id was changed by hand to that of another one, becomes a dead letter', async () => {
    const worker = await registerWorker(queue.admin);
    await replace({ n: 1 });
    const task = await claimOne(worker);
    await replace({ n: 2 });
    const other = await enqueue(queue.admin);
    await queue.admin.rows(
      "update taskq.tasks set again = again || jsonb_build_object('id', $1::bigint) where again is not null",
      other,
    );
    const [answer] = await worker.settle(outcome(task, 'completed'));
    expect(answer).toMatchObject({ answer: 'recorded' });
    expect((await live()).map(({ id }) => id)).toEqual([other]);
    const [dead] = await queue.admin.rows<{ id: string; payload: unknown }>(
      'select id, payload from taskq.dead_tasks',
    );
    expect(dead).toMatchObject({ payload: { n: 2 } });
    expect(dead!.id).not.toBe(other);
  });
});

describe('a policy without a key, or one that is none, is refused', () => {
  test.each([
    [
      "select from taskq.enqueue('work', '{}', $1)",
      { on_held: 'replace' },
      'enqueue: on_held "replace" needs a key',
    ],
    [
      'select from taskq.enqueue_many(\'[{"type":"work"}]\', $1)',
      { on_held: 'preserve' },
      'enqueue_many: on_held "preserve" needs a key',
    ],
    [
      'select from taskq.enqueue_many(jsonb_build_array(\'{"type":"work","key":"k"}\'::jsonb, $1::jsonb))',
      { type: 'work', on_held: 'ignore' },
      'task 2 cannot be enqueued: on_held "ignore" needs a key',
    ],
    ["select from taskq.enqueue('work', '{}', $1)", { key_for: '3d' }, 'enqueue: key_for "3d" needs a key'],
    [
      "select from taskq.enqueue('work', '{}', $1)",
      { key_for: 'ever' },
      'enqueue: key_for "ever" needs a key',
    ],
    [
      'select from taskq.enqueue_many(jsonb_build_array(\'{"type":"work","key":"k"}\'::jsonb, $1::jsonb))',
      { type: 'work', key_for: 'live' },
      'task 2 cannot be enqueued: key_for "live" needs a key',
    ],
    [
      "select from taskq.enqueue('work', '{}', $1)",
      { key: 'k', on_held: 'replcae' },
      'enqueue: on_held "replcae": expected ignore, replace or preserve (did you mean "replace"?)',
    ],
  ])('%s %j', async (text, options, message) => {
    await expect(queue.admin.rows(text, options)).rejects.toMatchObject({ code: '22023', message });
    expect(await live()).toEqual([]);
  });

  test('a policy of the whole call applies to the tasks that have keys', async () => {
    const { id } = await replace({ n: 1 });
    const answers = await many([{ key: 'k', payload: { n: 2 } }, {}], { on_held: 'replace' });
    expect(answers).toMatchObject([
      { id, extra: REPLACED },
      { created: true, extra: null },
    ]);
  });
});

test('a producer that holds a key open delays its running holder alone, which is busy until then', async () => {
  const [open, other] = await Promise.all([queue.session(), queue.session()]);
  const worker = await registerWorker(queue.admin);
  await replace({ n: 1 });
  await replace({ n: 1 }, { key: 'free' });
  const tasks = await worker.claim({ start: 2 });
  await open.rows('begin');
  const { extra } = await replace({ n: 2 }, {}, open);
  const answers = await worker.settle(...tasks.map((task) => outcome(task, 'completed')));
  expect(answers.map(({ answer }) => answer)).toEqual(['busy', 'recorded']);
  const waiting = replace({ n: 3 }, {}, other);
  await waitUntilBlocked(queue.admin);
  await replace({ n: 4 }, { key: 'free' });
  await open.rows('commit');
  expect(await waiting).toMatchObject({ created: false, extra });
  const [answer] = await worker.settle(outcome(tasks[0]!, 'completed'));
  expect(answer).toMatchObject({ answer: 'recorded' });
  expect(await finishedRow(queue.admin, tasks[0]!.id)).toMatchObject({ payload: { n: 1 } });
  expect(await liveRow(queue.admin, extra!.next_id!)).toMatchObject({ payload: { n: 3 } });
});

describe('a task whose handler asks to run again', () => {
  const again = (task: { id: string; lease_no: number }, more: object = {}) =>
    outcome(task, 'completed', { again: more });

  test('completes, and a copy of it runs after it, with the payload and the delay it gives', async () => {
    const worker = await registerWorker(queue.admin);
    const options = { key: 'k', tags: { a: 'b' }, max_attempts: 4, priority: 5, expires_ms: 60_000 };
    const id = await enqueue(queue.admin, options, { n: 1 });
    const [answer] = await worker.settle(
      again(await claimOne(worker), { payload: null, delay_ms: 3_600_000 }),
    );
    expect(answer).toMatchObject({ id, answer: 'recorded' });
    expect(await statusOf(queue.admin, id)).toBe('completed');
    const [next] = await live();
    expect(next).toEqual({ id: expect.not.stringMatching(`^${id}$`), payload: null });
    const row = (await liveRow(queue.admin, next!.id)) as { available_at: Date; expires_at: Date };
    expect(row).toMatchObject({
      ...{ unique_key: 'k', tags: { a: 'b' }, max_attempts: 4, priority: 5, attempts: 0, lease_no: 0 },
      ...{ source: `again of ${id}`, status: 'pending', started_at: null, payload_bytes: 4 },
    });
    expect(row.expires_at.getTime() - row.available_at.getTime()).toBe(60_000);
    expect(row.available_at.getTime() - Date.now()).toBeGreaterThan(3_590_000);
  });

  test('has the same payload and no key if it gives none and had none', async () => {
    const worker = await registerWorker(queue.admin);
    await enqueue(queue.admin, {}, { n: 1 });
    await worker.settle(again(await claimOne(worker)));
    expect(await claimOne(worker)).toMatchObject({ payload: { n: 1 } });
  });

  test('runs with what a producer has given meanwhile instead', async () => {
    const worker = await registerWorker(queue.admin);
    await replace({ n: 1 });
    const task = await claimOne(worker);
    const { extra } = await replace({ n: 2 });
    await worker.settle(again(task, { payload: { n: 'old' }, delay_ms: 3_600_000 }));
    expect(await live()).toEqual([{ id: extra!.next_id, payload: { n: 2 } }]);
    expect(await claimOne(worker)).toMatchObject({ payload: { n: 2 } });
  });

  test('does not run again once its cancel was asked for', async () => {
    const worker = await registerWorker(queue.admin);
    const id = await enqueue(queue.admin, {}, { n: 1 });
    const task = await claimOne(worker);
    await queue.admin.rows('select from taskq.cancel($1)', [id]);
    await worker.settle(again(task));
    expect(await live()).toEqual([]);
    expect(await statusOf(queue.admin, id)).toBe('completed');
  });

  test('is busy as a whole while another transaction has its row, and a repeat runs it once', async () => {
    const worker = await registerWorker(queue.admin);
    const open = await queue.session();
    await enqueue(queue.admin, {}, { n: 1 });
    await enqueue(queue.admin, {}, { n: 2 });
    const tasks = await worker.claim({ start: 2 });
    await open.rows('begin');
    await open.rows('select from taskq.tasks where id = $1 for update', tasks[0]!.id);
    const settle = () => worker.settle(...tasks.map((task) => again(task, { payload: 'next' })));
    expect((await settle()).map(({ answer }) => answer)).toEqual(['busy', 'recorded']);
    await open.rows('rollback');
    expect((await settle()).map(({ answer }) => answer)).toEqual(['recorded', 'already']);
    expect((await live()).map(({ payload }) => payload)).toEqual(['next', 'next']);
  });

  test('with a payload larger than 1 MB has no outcome that can be stored', async () => {
    const worker = await registerWorker(queue.admin);
    await enqueue(queue.admin);
    const task = await claimOne(worker);
    await expect(worker.settle(again(task, { payload: 'x'.repeat(1_048_577) }))).rejects.toMatchObject({
      code: '22023',
      message: expect.stringMatching('larger than 1 MB'),
    });
  });
});
