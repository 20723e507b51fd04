import { describe, expect, test } from 'vitest';
import { knowTypes } from '../support/know-types.ts';
import { deadRow, enqueue, enqueueSome, finishedRow, lapse, type Row, rescueAll, silence } from './rows.ts';
import { type Session, useDatabase } from './session.ts';
import { waitUntilBlocked } from './waiting.ts';
import { type Answer, type Claimed, claimOne, outcome, type PlainWorker, registerWorker } from './worker.ts';

const queue = useDatabase();
const TRACEPARENT = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';

/** Settles these outcomes with what they enqueue. */
function settle(worker: PlainWorker, ...outcomes: readonly object[]): Promise<Answer[]> {
  return worker.session.rows<Answer>(
    'select * from taskq.settle_and_enqueue($1, $2) order by id, lease_no',
    worker.id,
    JSON.stringify(outcomes),
  );
}

/** The outcome of a task that enqueues these. */
function followed(task: Claimed, ...enqueue: readonly unknown[]): object {
  return outcome(task, 'completed', { enqueue });
}

/** What was enqueued beside the first tasks, in order. */
function enqueued(columns = 'type, payload'): Promise<Row[]> {
  return queue.admin.rows(
    `select ${columns} from taskq.tasks where lease_owner is null and source is distinct from 'first' order by id`,
  );
}

async function claimed(count = 1): Promise<{ worker: PlainWorker; tasks: Claimed[] }> {
  const worker = await registerWorker(await queue.session(), { work: {} });
  await knowTypes(queue.admin.client, 'mail');
  await enqueueSome(queue.admin, count, { source: 'first' });
  return { worker, tasks: await worker.claim({ start: count }) };
}

describe('a completed task', () => {
  test('is recorded with its result, and its follow-ups wait with their options', async () => {
    const { worker, tasks } = await claimed();
    const [task] = tasks as [Claimed];
    const next = { type: 'mail', payload: null, queue: 'post', priority: 'high', key: 'k', tags: { a: '1' } };
    const answers = await settle(worker, {
      ...outcome(task, 'completed', { result: 5, ran_ms: 3 }),
      enqueue: [next, { type: 'work' }],
    });
    expect(answers).toEqual([{ id: task.id, lease_no: task.lease_no, answer: 'recorded', extra: null }]);
    expect(await finishedRow(queue.admin, task.id)).toMatchObject({ status: 'completed', result: 5 });
    expect(await enqueued('type, payload, queue, priority, unique_key, tags, source')).toEqual([
      {
        ...{ type: 'mail', payload: null, queue: 'post', priority: 1, unique_key: 'k', tags: { a: '1' } },
        source: `follow-up of ${task.id}`,
      },
      {
        ...{ type: 'work', payload: {}, queue: 'default', priority: 2, unique_key: null, tags: null },
        source: `follow-up of ${task.id}`,
      },
    ]);
  });

  test('passes its trace on to follow-ups without one', async () => {
    const worker = await registerWorker(await queue.session());
    await enqueue(queue.admin, { traceparent: TRACEPARENT });
    const other = TRACEPARENT.replace('4b', '00');
    await settle(
      worker,
      followed(await claimOne(worker), { type: 'work' }, { type: 'work', traceparent: other }),
    );
    expect(await enqueued('traceparent')).toEqual([{ traceparent: TRACEPARENT }, { traceparent: other }]);
  });

  test('may leave its key to a follow-up', async () => {
    const worker = await registerWorker(await queue.session());
    await enqueue(queue.admin, { key: 'k' });
    await settle(worker, followed(await claimOne(worker), { type: 'work', key: 'k' }));
    expect(await enqueued('unique_key')).toEqual([{ unique_key: 'k' }]);
  });

  test('runs again beside its follow-ups', async () => {
    const { worker, tasks } = await claimed();
    await settle(worker, { ...followed(tasks[0]!, { type: 'mail' }), again: { payload: 2 } });
    expect(await enqueued('type, payload, source')).toEqual([
      { type: 'work', payload: 2, source: `again of ${tasks[0]!.id}` },
      { type: 'mail', payload: {}, source: `follow-up of ${tasks[0]!.id}` },
    ]);
  });

  test('creates none whose key another task holds', async () => {
    const { worker, tasks } = await claimed(2);
    await settle(
      worker,
      ...tasks.map((task) => followed(task, { type: 'mail', payload: task.id, key: 'k' })),
    );
    expect(await enqueued()).toEqual([{ type: 'mail', payload: tasks[0]!.id }]);
  });

  test.each([
    ['is not in the history until the commit, nor are they', 'rollback', 0],
    ['is there after the commit, with them', 'commit', 1],
  ])('%s', async (_, end, count) => {
    const { worker, tasks } = await claimed();
    await worker.session.rows('begin');
    await settle(worker, followed(tasks[0]!, { type: 'mail' }));
    expect(await enqueued()).toEqual([]);
    await worker.session.rows(end);
    expect(await enqueued()).toHaveLength(count);
    expect(await queue.admin.rows('select from taskq.finished_tasks')).toHaveLength(count);
  });

  test('two hundred with fifty follow-ups each', async () => {
    const { worker, tasks } = await claimed(200);
    const next = Array.from({ length: 50 }, (_, n) => ({ type: 'mail', payload: { n } }));
    const answers = await settle(worker, ...tasks.map((task) => followed(task, ...next)));
    expect(answers.every(({ answer }) => answer === 'recorded')).toBe(true);
    const counts = 'select count(*)::int as n from taskq.tasks group by source order by 1';
    expect(await queue.admin.rows(counts)).toEqual(tasks.map(() => ({ n: 50 })));
  });
});

describe('nothing is enqueued', () => {
  test('by a repeat of what is recorded', async () => {
    const { worker, tasks } = await claimed();
    const of = followed(tasks[0]!, { type: 'mail' });
    await settle(worker, of);
    expect(await settle(worker, of)).toMatchObject([{ answer: 'already' }]);
    expect(await settle(worker, of, of)).toMatchObject([{ answer: 'already' }]);
    expect(await enqueued()).toHaveLength(1);
  });

  test('by a worker whose task waits again', async () => {
    const { worker, tasks } = await claimed();
    await lapse(queue.admin, [tasks[0]!.id]);
    await silence(queue.admin, worker.id, 3_600_000);
    await rescueAll(queue.admin);
    expect(await settle(worker, followed(tasks[0]!, { type: 'mail' }))).toMatchObject([{ answer: 'lost' }]);
    expect(await enqueued('type')).toEqual([]);
  });

  test('by a worker whose task another one runs, nor by one that never had it', async () => {
    const { worker, tasks } = await claimed();
    await lapse(queue.admin, [tasks[0]!.id]);
    await silence(queue.admin, worker.id, 3_600_000);
    await rescueAll(queue.admin);
    const other = await registerWorker(await queue.session());
    const again = await claimOne(other);
    for (const stale of [followed(tasks[0]!, { type: 'mail' }), followed(again, { type: 'mail' })])
      expect(await settle(worker, stale)).toMatchObject([{ answer: 'lost' }]);
    expect(await enqueued('type')).toEqual([]);
    expect(await settle(other, followed(again, { type: 'mail' }))).toMatchObject([{ answer: 'recorded' }]);
    expect(await enqueued('type')).toEqual([{ type: 'mail' }]);
  });

  test('for a task that is locked, which stays held', async () => {
    const { worker, tasks } = await claimed();
    const locker = await queue.session();
    await locker.rows('begin');
    await locker.rows('select from taskq.tasks for update');
    expect(await settle(worker, followed(tasks[0]!, { type: 'mail' }))).toMatchObject([{ answer: 'busy' }]);
    await locker.rows('rollback');
    expect(await enqueued()).toEqual([]);
    expect(await settle(worker, followed(tasks[0]!, { type: 'mail' }))).toMatchObject([
      { answer: 'recorded' },
    ]);
  });

  test.each(['failed', 'snoozed', 'dead', 'cancelled'])(
    'with an outcome of %s, which is refused',
    async (kind) => {
      const { worker, tasks } = await claimed();
      const of = outcome(tasks[0]!, kind, { enqueue: [{ type: 'mail' }] });
      await expect(settle(worker, of)).rejects.toMatchObject({ code: '22023' });
    },
  );

  test('by settle, which refuses follow-ups', async () => {
    const { worker, tasks } = await claimed();
    await expect(worker.settle(followed(tasks[0]!, { type: 'mail' }))).rejects.toMatchObject({
      code: '22023',
    });
    expect(await enqueued()).toEqual([]);
  });
});

describe('a follow-up that is refused', () => {
  const REFUSED: Readonly<Record<string, readonly [unknown, RegExp]>> = {
    'a type that nothing knows': [{ type: 'male' }, /^unknown type "male": no worker has registered it/],
    'a bad option': [{ type: 'mail', priority: 77 }, /priority/],
    'an option that does not exist': [{ type: 'mail', prioritat: 7 }, /prioritat/],
    'no type': [{ payload: 5 }, /type/],
    'something that is no task': [5, /^task 2 cannot be enqueued/],
    'a replacement of a task of another type': [
      { type: 'mail', key: 'held', on_held: 'replace' },
      /holds the key "held"/,
    ],
  };

  test.each(Object.entries(REFUSED))(
    '%s makes its own task dead, and the rest is recorded',
    async (_, [task, why]) => {
      const { worker, tasks } = await claimed(3);
      await enqueue(queue.admin, { key: 'held', source: 'first' });
      const [first, bad, last] = tasks as [Claimed, Claimed, Claimed];
      const answers = await settle(
        worker,
        followed(first, { type: 'mail', payload: 1 }),
        { ...followed(bad, { type: 'mail', payload: 2 }, task), result: 'done' },
        followed(last, { type: 'mail', payload: 3 }),
      );
      expect(answers).toMatchObject([
        { answer: 'recorded', extra: null },
        {
          answer: 'recorded',
          extra: {
            status: 'dead',
            attempts: 1,
            reason: 'follow_up_refused',
            error: { name: 'FollowUpRefused', message: expect.stringMatching(why), code: '22023' },
          },
        },
        { answer: 'recorded', extra: null },
      ]);
      expect(await deadRow(queue.admin, bad.id)).toMatchObject({
        reason: 'follow_up_refused',
        error: { message: expect.stringMatching(why) },
      });
      expect(await queue.admin.rows('select result from taskq.task_errors')).toEqual([{ result: 'done' }]);
      expect(await enqueued('payload')).toEqual([{ payload: 1 }, { payload: 3 }]);
    },
  );

  test('a type that nothing knows yet is accepted where the follow-up says so', async () => {
    const { worker, tasks } = await claimed();
    await settle(worker, followed(tasks[0]!, { type: 'male', allow_unknown: true }, { type: 'mail' }));
    expect(await enqueued('type')).toEqual([{ type: 'male' }, { type: 'mail' }]);
  });

  test.each([
    ['at once', 'create trigger refuse before insert on taskq.tasks'],
    [
      'at the commit',
      'create constraint trigger refuse after insert on taskq.tasks deferrable initially deferred',
    ],
  ])('by a trigger of the application, %s', async (_, create) => {
    const { worker, tasks } = await claimed(2);
    await queue.admin.client.query(`
      create function public.refuse() returns trigger language plpgsql as
        $$ begin if new.payload = '13' then raise 'no thirteen'; end if; return new; end $$;
      ${create} for each row execute function public.refuse()`);
    try {
      const of = tasks.map((task, nth) => followed(task, { type: 'mail', payload: 12 + nth }));
      expect(await settle(worker, ...of)).toMatchObject([
        { answer: 'recorded', extra: null },
        { answer: 'recorded', extra: { reason: 'follow_up_refused', error: { message: 'no thirteen' } } },
      ]);
      expect(await enqueued('payload')).toEqual([{ payload: 12 }]);
    } finally {
      await queue.admin.client.query('drop trigger refuse on taskq.tasks; drop function public.refuse()');
    }
  });
});

describe('a trigger of the application that is itself broken', () => {
  const TRIGGER = `
    create table public.audit (payload jsonb);
    create function public.audit() returns trigger language plpgsql as
      $$ begin if new.type = 'mail' then insert into public.audit values (new.payload); end if; return new; end $$;
    create trigger audit before insert on taskq.tasks for each row execute function public.audit()`;
  const undo = () =>
    queue.admin.client.query('drop function public.audit() cascade; drop table if exists public.audit');

  test.each([
    ['as its table was dropped', 'drop table public.audit', '42P01'],
    ['as its table has no such column', 'alter table public.audit drop column payload', '42601'],
  ])('refuses a follow-up, %s', async (_why, broken, code) => {
    const { worker, tasks } = await claimed(2);
    await queue.admin.client.query(TRIGGER);
    try {
      await queue.admin.rows(broken);
      const [one, other] = tasks.map((task, nth) => followed(task, { type: nth === 0 ? 'mail' : 'work' }));
      expect(await settle(worker, one!, other!)).toMatchObject([
        { answer: 'recorded', extra: { status: 'dead', reason: 'follow_up_refused', error: { code } } },
        { answer: 'recorded', extra: null },
      ]);
      expect(await enqueued('type')).toEqual([{ type: 'work' }]);
    } finally {
      await undo();
    }
  });

  test('is not blamed for a fault of these functions', async () => {
    const { worker, tasks } = await claimed();
    await queue.admin.client.query(TRIGGER);
    const insertPlain = 'insert_plain(jsonb, jsonb, bigint[], jsonb[], timestamptz, boolean)';
    try {
      await queue.admin.rows(`alter function taskq.${insertPlain} rename to elsewhere`);
      await expect(settle(worker, followed(tasks[0]!, { type: 'mail' }))).rejects.toMatchObject({
        code: '42883',
      });
    } finally {
      await queue.admin.rows(
        `alter function taskq.${insertPlain.replace('insert_plain', 'elsewhere')} rename to insert_plain`,
      );
      await undo();
    }
    expect(await queue.admin.rows('select from taskq.dead_tasks')).toEqual([]);
  });
});

describe('a fault of the functions themselves', () => {
  // Broken, each in a way of its own: what a release does that changes one and not the other.
  test.each([
    ['settle_followed(integer, json, integer)', '42883'],
    ['enqueue_many(jsonb, jsonb)', '42883'],
    ['insert_plain(jsonb, jsonb, bigint[], jsonb[], timestamptz, boolean)', '42883'],
  ])('without %s nothing is recorded, and all is once it is back', async (signature, code) => {
    const { worker, tasks } = await claimed(2);
    const name = signature.split('(')[0];
    await queue.admin.rows(`alter function taskq.${signature} rename to elsewhere`);
    const of = tasks.map((task) => followed(task, { type: 'mail' }));
    try {
      await expect(settle(worker, ...of)).rejects.toMatchObject({ code });
    } finally {
      await queue.admin.rows(
        `alter function taskq.${signature.replace(name!, 'elsewhere')} rename to ${name}`,
      );
    }
    expect(await queue.admin.rows('select from taskq.dead_tasks')).toEqual([]);
    expect(await settle(worker, ...of)).toMatchObject([{ answer: 'recorded' }, { answer: 'recorded' }]);
    expect(await enqueued('type')).toHaveLength(2);
  });

  test('also of one that returns something else', async () => {
    const { worker, tasks } = await claimed();
    await worker.session.rows('begin');
    await worker.session.client.query(`
      drop function taskq.settle_followed(integer, json, integer);
      create function taskq.settle_followed(integer, json, integer) returns table (id bigint)
        language sql as 'select 1::bigint'`);
    await expect(settle(worker, followed(tasks[0]!, { type: 'mail' }))).rejects.toMatchObject({
      code: '42804',
    });
    await worker.session.rows('rollback');
  });

  test.each([
    ['22P02', true],
    ['23514', true],
    ['44000', true],
    ['54000', true],
    ['P0001', true],
    ['AB123', true],
    ['MY001', true],
    ['90001', true],
    ['0A000', false],
    ['21000', false],
    ['25006', false],
    ['3F000', false],
    ['40001', false],
    ['42501', false],
    ['42703', false],
    ['42804', false],
    ['53100', false],
    ['55P03', false],
    ['57014', false],
    ['TQ001', false],
    ['XX000', false],
  ])('SQLSTATE %s refuses a follow-up: %s', async (code, isRefusal) => {
    expect(await queue.admin.value('select taskq.is_refusal($1)', code)).toBe(isRefusal);
  });
});

describe('a key that a producer has in an open transaction', () => {
  async function open(key: string): Promise<Session> {
    const producer = await queue.session();
    await producer.rows('begin');
    await enqueue(producer, { key, source: 'first' });
    return producer;
  }

  test('makes only the tasks busy whose follow-ups have it, and not for long', async () => {
    const { worker, tasks } = await claimed(12);
    const producer = await open('open');
    const of = tasks.map((task, nth) =>
      followed(task, { type: 'mail', payload: nth, key: nth < 10 ? 'open' : `free ${nth}` }),
    );
    const start = performance.now();
    const answers = await settle(worker, ...of);
    expect(performance.now() - start).toBeLessThan(5000);
    expect(answers.map(({ answer }) => answer)).toEqual(
      tasks.map((_, nth) => (nth < 10 ? 'busy' : 'recorded')),
    );
    expect(await enqueued('payload')).toEqual([{ payload: 10 }, { payload: 11 }]);
    await producer.rows('rollback');
    expect((await settle(worker, ...of.slice(0, 2))).map(({ answer }) => answer)).toEqual([
      'recorded',
      'recorded',
    ]);
    expect(await enqueued('payload')).toHaveLength(3);
  });

  test('is held, once that commits: nothing is created, and the task completes', async () => {
    const { worker, tasks } = await claimed();
    const producer = await open('open');
    const of = followed(tasks[0]!, { type: 'mail', key: 'open' });
    expect(await settle(worker, of)).toMatchObject([{ answer: 'busy' }]);
    await producer.rows('commit');
    expect(await settle(worker, of)).toMatchObject([{ answer: 'recorded', extra: null }]);
    expect(await enqueued()).toEqual([]);
  });

  test('a producer waits for the end of the transaction with the follow-up, and creates nothing', async () => {
    const { worker, tasks } = await claimed();
    await worker.session.rows('begin');
    await settle(worker, followed(tasks[0]!, { type: 'mail', key: 'open' }));
    const producer = await queue.session();
    const waiting = producer.rows("select created from taskq.enqueue('mail', '{}', '{\"key\": \"open\"}')");
    await waitUntilBlocked(queue.admin);
    await worker.session.rows('commit');
    expect(await waiting).toEqual([{ created: false }]);
  });
});

test.each([
  [
    'the name of a step',
    `select taskq.enqueue('mail', '{}', jsonb_build_object('workflow', $1::bigint, 'step', 'b'))`,
    'rollback',
  ],
  ['a workflow, to close it,', 'select taskq.close_workflow($1)', 'rollback'],
])(
  '%s that a producer has in an open transaction makes busy only the task that adds a step',
  async (_, open, end) => {
    const { worker, tasks } = await claimed(2);
    const workflow = await queue.admin.value<string>(
      `select id from taskq.run_workflow('{"name": "w", "open": true, "steps": [{"step": "a", "type": "mail"}]}')`,
    );
    const producer = await queue.session();
    await producer.rows('begin');
    await producer.rows(open, workflow);
    const of = [
      followed(tasks[0]!, { type: 'mail', payload: 'step', workflow, step: 'b' }),
      followed(tasks[1]!, { type: 'mail', payload: 'plain' }),
    ];
    expect((await settle(worker, ...of)).map(({ answer }) => answer)).toEqual(['busy', 'recorded']);
    await producer.rows(end);
    expect(await settle(worker, of[0]!)).toMatchObject([{ answer: 'recorded' }]);
    expect(await queue.admin.rows('select step from taskq.workflow_steps order by step')).toEqual([
      { step: 'a' },
      { step: 'b' },
    ]);
  },
);

test('an option that does not exist is refused, and one to wait for a row is that of settle', async () => {
  const { worker, tasks } = await claimed();
  const call = 'select answer from taskq.settle_and_enqueue($1, $2, $3)';
  const of = JSON.stringify([followed(tasks[0]!, { type: 'mail' })]);
  await expect(queue.admin.rows(call, worker.id, of, '{"wait": 1}')).rejects.toThrow(/wait_for/);
  const wait = JSON.stringify({ wait_for: Number(tasks[0]!.id) });
  expect(await queue.admin.rows(call, worker.id, of, wait)).toEqual([{ answer: 'recorded' }]);
});

describe('a queue that says where its handlers may enqueue', () => {
  const allow = (queues: readonly string[] | null) =>
    queue.admin.rows("select taskq.set_queue('default', $1)", JSON.stringify({ may_enqueue: queues }));

  test.each<[string, readonly string[], object]>([
    ['a queue that it does not name', ['mail', 'post'], { type: 'mail' }],
    ['any queue, where it names none', [], { type: 'mail', queue: 'mail' }],
    ['the queue of the type', ['default'], { type: 'placed' }],
    ['something that is no task', ['mail'], { queue: 5 }],
    [
      'what follows the end of a follow-up in a queue that it does not name',
      ['mail'],
      { type: 'mail', queue: 'mail', on_complete: { type: 'mail', queue: 'post' } },
    ],
    ['or its death', ['mail'], { type: 'mail', queue: 'mail', on_dead: { type: 'placed' } }],
  ])('refuses %s, which makes the task dead; the rest is recorded', async (_, queues, task) => {
    const { worker, tasks } = await claimed(2);
    await knowTypes(queue.admin.client, 'placed');
    await queue.admin.rows(`select taskq.set_type('placed', '{"queue": "letters"}')`);
    await allow(queues);
    const [bad, good] = tasks as [Claimed, Claimed];
    const answers = await settle(worker, followed(bad, task), outcome(good, 'completed'));
    expect(answers).toMatchObject([
      { extra: { reason: 'follow_up_refused', error: { code: '42501' } } },
      { answer: 'recorded', extra: null },
    ]);
    expect(await enqueued()).toEqual([]);
  });

  test('takes what it names, by the follow-up or by its type, and anything once the setting is removed', async () => {
    const { worker, tasks } = await claimed(2);
    await queue.admin.rows(`select taskq.set_type('mail', '{"queue": "letters"}')`);
    await allow(['letters', 'post']);
    await settle(worker, followed(tasks[0]!, { type: 'mail' }, { type: 'mail', queue: 'post' }));
    await allow(null);
    await settle(worker, followed(tasks[1]!, { type: 'mail', queue: 'other' }));
    expect(await enqueued('queue')).toEqual([{ queue: 'letters' }, { queue: 'post' }, { queue: 'other' }]);
  });

  test('says so of a task in another queue only if that one does', async () => {
    const { worker, tasks } = await claimed();
    await queue.admin.rows(`select taskq.set_queue('mail', '{"may_enqueue": []}')`);
    await settle(worker, followed(tasks[0]!, { type: 'mail', queue: 'mail' }));
    expect(await enqueued('queue')).toEqual([{ queue: 'mail' }]);
  });

  test.each([['"mail"'], ['["mail", 5]'], ['[""]'], ['{"mail": true}']])(
    'refuses %s as names',
    async (names) => {
      await expect(
        queue.admin.rows("select taskq.set_queue('default', $1)", `{"may_enqueue": ${names}}`),
      ).rejects.toMatchObject({ code: '22023', message: expect.stringContaining('may_enqueue') });
    },
  );
});
