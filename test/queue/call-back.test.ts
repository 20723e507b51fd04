import { describe, expect, test } from 'vitest';
import { knowTypes } from '../support/know-types.ts';
import { deadRow, enqueue, finishedRow, liveRow, type Row, rescueAll, silence } from './rows.ts';
import { useDatabase } from './session.ts';
import { waitUntilBlocked } from './waiting.ts';
import { claimOne, outcome, type PlainWorker, registerWorker } from './worker.ts';

const queue = useDatabase();
const BOTH = {
  on_complete: { type: 'report' },
  on_dead: { type: 'alarm', queue: 'alarms', payload: { to: 'ann' } },
};

/** What was enqueued with an end, in order. */
function called(columns = 'type, queue, payload, source', order = 'id'): Promise<Row[]> {
  return queue.admin.rows(`select ${columns} from taskq.tasks where source like 'on\\_%' order by ${order}`);
}

async function worker(): Promise<PlainWorker> {
  await knowTypes(queue.admin.client, 'report', 'alarm');
  return registerWorker(await queue.session());
}

function about(id: string, more: object): object {
  return { task: { id, queue: 'default', type: 'work', payload: { n: 1 }, ...more } };
}

describe('a task that names what follows its end', () => {
  test('is followed by that when it completes, with its result', async () => {
    const plain = await worker();
    const trace = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
    const id = await enqueue(queue.admin, { ...BOTH, traceparent: trace }, { n: 1 });
    await plain.settle(outcome(await claimOne(plain), 'completed', { result: { sent: null } }));
    expect(await called('type, queue, payload, source, traceparent')).toEqual([
      {
        ...{ type: 'report', queue: 'default', source: `on_complete of ${id}`, traceparent: trace },
        payload: about(id, { attempts: 0, result: { sent: null } }),
      },
    ]);
  });

  test('by arrays, among others, each with its own result', async () => {
    const plain = await worker();
    const ids: string[] = [];
    for (const options of [{}, BOTH, {}, BOTH]) ids.push(await enqueue(queue.admin, options, { n: 1 }));
    const tasks = await plain.claim({ start: 4 });
    await plain.session.rows(
      'select taskq.complete($1, $2, $3, null, $4)',
      plain.id,
      tasks.map(({ id }) => id),
      tasks.map(({ lease_no }) => lease_no),
      [1, 2, 3, 4].map(String),
    );
    expect(await called('payload')).toEqual([
      { payload: about(ids[1]!, { attempts: 0, result: 2 }) },
      { payload: about(ids[3]!, { attempts: 0, result: 4 }) },
    ]);
  });

  const DEATHS: Readonly<
    Record<string, readonly [reason: string, die: (plain: PlainWorker, id: string) => Promise<unknown>]>
  > = {
    'a last failed attempt': [
      'attempts_spent',
      async (plain, id) => {
        await queue.admin.rows('update taskq.tasks set max_attempts = 1 where id = $1', id);
        await plain.settle(outcome(await claimOne(plain), 'failed', { error: { message: 'no' } }));
      },
    ],
    'an outcome that says so': [
      'no way',
      async (plain) =>
        plain.settle(outcome(await claimOne(plain), 'dead', { reason: 'no way', error: { message: 'no' } })),
    ],
    'the third lost worker': [
      'worker_lost',
      async (plain, id) => {
        await claimOne(plain);
        await queue.admin.rows(
          `update taskq.tasks set losses = 2, lease_expires_at = '2020-01-01', error = '{"message": "no"}' where id = $1`,
          id,
        );
        await silence(queue.admin, plain.id, 3_600_000);
        await rescueAll(queue.admin);
      },
    ],
    'the tenth give-back': [
      'given_back_too_often',
      async (plain, id) => {
        await queue.admin.rows(
          `update taskq.tasks set releases = 9, error = '{"message": "no"}' where id = $1`,
          id,
        );
        await plain.giveBack([await claimOne(plain)]);
      },
    ],
    'an operator': [
      'by hand',
      async (_, id) => {
        await queue.admin.rows(`update taskq.tasks set error = '{"message": "no"}' where id = $1`, id);
        await queue.admin.rows("select taskq.add_dead($1, 'by hand')", id);
      },
    ],
  };

  test.each(Object.entries(DEATHS))(
    'is followed by that when it dies of %s, once',
    async (_, [reason, die]) => {
      const plain = await worker();
      const id = await enqueue(queue.admin, BOTH, { n: 1 });
      await die(plain, id);
      expect(await deadRow(queue.admin, id)).toMatchObject({ reason });
      const [alarm, ...others] = await called();
      expect(others).toEqual([]);
      expect(alarm).toMatchObject({
        ...{ type: 'alarm', queue: 'alarms', source: `on_dead of ${id}` },
        payload: { to: 'ann', ...about(id, { error: { message: expect.any(String) }, reason }) },
      });
    },
  );

  test('is followed again at its next death, and not when only the reason changes', async () => {
    await worker();
    const id = await enqueue(queue.admin, BOTH);
    await queue.admin.rows("select taskq.add_dead($1, 'first')", id);
    await queue.admin.rows("select taskq.add_dead($1, 'changed')", id);
    expect(await called('payload')).toHaveLength(1);
    await queue.admin.rows('select taskq.revive($1)', [id]);
    await queue.admin.rows("select taskq.add_dead($1, 'second')", id);
    expect(await called("payload #>> '{task,reason}' as reason")).toEqual([
      { reason: 'first' },
      { reason: 'second' },
    ]);
  });

  test.each([
    ['is cancelled', (id: string) => queue.admin.rows('select taskq.cancel($1)', [id])],
    [
      'expires',
      async () => {
        await queue.admin.rows("update taskq.tasks set expires_at = '2020-01-01'");
        await queue.admin.rows('select taskq.expire(10)');
      },
    ],
  ])('is followed by nothing when it %s', async (_, end) => {
    await worker();
    const id = await enqueue(queue.admin, BOTH);
    await end(id);
    expect(await liveRow(queue.admin, id)).toBeUndefined();
    expect(await called()).toEqual([]);
  });

  test('is followed by nothing when its attempt only fails, and by nothing of a worker that lost it', async () => {
    const plain = await worker();
    await enqueue(queue.admin, BOTH);
    const task = await claimOne(plain);
    await plain.settle(outcome(task, 'failed'));
    await plain.settle(outcome(task, 'completed'), outcome({ ...task, lease_no: 5 }, 'completed'));
    expect(await called()).toEqual([]);
  });

  test('keeps that over a re-run, a run again and a replacement', async () => {
    const plain = await worker();
    const id = await enqueue(queue.admin, { ...BOTH, key: 'k' });
    await plain.settle(outcome(await claimOne(plain), 'completed', { again: {} }));
    const onEnd = { complete: BOTH.on_complete, dead: BOTH.on_dead };
    expect(await queue.admin.rows("select on_end from taskq.tasks where source like 'again%'")).toEqual([
      { on_end: onEnd },
    ]);
    await queue.admin.rows('delete from taskq.tasks');
    await queue.admin.rows('select taskq.rerun($1)', [id]);
    expect(await queue.admin.rows('select on_end from taskq.tasks')).toEqual([{ on_end: onEnd }]);
    await enqueue(queue.admin, { key: 'k', on_held: 'replace', on_dead: { type: 'report' } });
    expect(await queue.admin.rows('select on_end from taskq.tasks')).toEqual([
      { on_end: { dead: { type: 'report' } } },
    ]);
  });

  test('keeps what is given for it as it is, nulls included', async () => {
    const plain = await worker();
    const payload = { to: null, task: 'its own' };
    await enqueue(
      queue.admin,
      { on_complete: { type: 'report', payload }, key: 'k', on_held: 'replace' },
      { n: 1 },
    );
    await plain.settle(outcome(await claimOne(plain), 'completed', { again: {} }));
    expect(await called("payload -> 'to' as to, payload #> '{task,type}' as type")).toEqual([
      { to: null, type: 'work' },
    ]);
    expect(
      await queue.admin.value(
        "select on_end #>> '{complete,payload}' from taskq.tasks where source like 'again%'",
      ),
    ).toBe('{"to": null, "task": "its own"}');
  });

  test('leaves out what is too large for a payload', async () => {
    const plain = await worker();
    await enqueue(queue.admin, BOTH, { text: 'x'.repeat(1_000_000) });
    await plain.settle(outcome(await claimOne(plain), 'completed', { result: 'y'.repeat(200_000) }));
    const [row] = (await called('payload')) as [{ payload: { task: { payload: unknown; result: string } } }];
    expect(row.payload.task.payload).toBeNull();
    expect(row.payload.task.result).toHaveLength(200_000);
  });

  test('has its end recorded whatever becomes of what follows, which is then a dead letter', async () => {
    const plain = await worker();
    await queue.admin.client.query(`
      create function public.refuse() returns trigger language plpgsql as
        $$ begin if new.type = 'report' then raise 'no reports'; end if; return new; end $$;
      create trigger refuse before insert on taskq.tasks for each row execute function public.refuse()`);
    try {
      const ids = [
        await enqueue(queue.admin, BOTH),
        await enqueue(queue.admin, { on_complete: { type: 'alarm' } }),
      ];
      const tasks = await plain.claim({ start: 2 });
      await plain.settle(...tasks.map((task) => outcome(task, 'completed')));
      for (const id of ids) expect(await finishedRow(queue.admin, id)).toMatchObject({ status: 'completed' });
      expect(await called('type')).toEqual([{ type: 'alarm' }]);
      expect(await queue.admin.rows('select type, reason, source from taskq.dead_tasks')).toEqual([
        { type: 'report', reason: 'could not be inserted: no reports', source: `on_complete of ${ids[0]}` },
      ]);
    } finally {
      await queue.admin.client.query('drop trigger refuse on taskq.tasks; drop function public.refuse()');
    }
  });

  test.each([
    ['each row', 'new'],
    ['each statement', 'null'],
  ])('has its end recorded where a trigger for %s names a table that is gone', async (each, returned) => {
    const plain = await worker();
    const id = await enqueue(queue.admin, BOTH);
    const task = await claimOne(plain);
    await queue.admin.client.query(`
      create function public.refuse() returns trigger language plpgsql as
        $$ begin insert into public.dropped_since values (1); return ${returned}; end $$;
      create trigger refuse before insert on taskq.tasks for ${each} execute function public.refuse()`);
    try {
      await plain.settle(outcome(task, 'completed'));
      expect(await finishedRow(queue.admin, id)).toMatchObject({ status: 'completed' });
      expect(await queue.admin.rows('select type, reason from taskq.dead_tasks')).toMatchObject([
        { type: 'report', reason: expect.stringContaining('dropped_since') },
      ]);
    } finally {
      await queue.admin.client.query('drop trigger refuse on taskq.tasks; drop function public.refuse()');
    }
  });

  test.each(['08006', '40001', '53100', '55P03', '57014', '58030'])(
    'waits with its end while what follows meets the trouble %s, which passes',
    async (code) => {
      const plain = await worker();
      const id = await enqueue(queue.admin, BOTH);
      const task = await claimOne(plain);
      await queue.admin.client.query(`
        create function public.refuse() returns trigger language plpgsql as
          $$ begin raise 'not now' using errcode = '${code}'; end $$;
        create trigger refuse before insert on taskq.tasks for each row execute function public.refuse()`);
      try {
        await expect(plain.settle(outcome(task, 'completed'))).rejects.toMatchObject({ code });
      } finally {
        await queue.admin.client.query('drop trigger refuse on taskq.tasks; drop function public.refuse()');
      }
      expect(await queue.admin.rows('select from taskq.dead_tasks')).toEqual([]);
      await plain.settle(outcome(task, 'completed'));
      expect(await finishedRow(queue.admin, id)).toMatchObject({ status: 'completed' });
      expect(await called('type')).toEqual([{ type: 'report' }]);
    },
  );

  test.each([
    '{"complete": 5}',
    '5',
    '{"complete": {"type": 5}}',
    '{"complete": {"type": "report", "queue": []}}',
  ])('ends all the same where a hand has put %s there', async (onEnd) => {
    const plain = await worker();
    const id = await enqueue(queue.admin);
    await queue.admin.rows('update taskq.tasks set on_end = $1', onEnd);
    await plain.settle(outcome(await claimOne(plain), 'completed'));
    expect(await finishedRow(queue.admin, id)).toMatchObject({ status: 'completed' });
    expect(await called()).toEqual([]);
  });

  test('is part of the transaction that records the end', async () => {
    const plain = await worker();
    await enqueue(queue.admin, BOTH);
    const task = await claimOne(plain);
    await plain.session.rows('begin');
    await plain.settle(outcome(task, 'completed'));
    await plain.session.rows('rollback');
    expect(await called()).toEqual([]);
  });
});

describe('a type that names what follows the end of its tasks', () => {
  const set = (settings: object, type = 'work') =>
    queue.admin.rows('select taskq.set_type($1, $2)', type, JSON.stringify(settings));

  test('has it enqueued with each completion and each death, unless a task names its own', async () => {
    const plain = await worker();
    await set(BOTH);
    const own = { on_complete: { type: 'alarm' } };
    const ids: string[] = [];
    for (const options of [{}, own, {}, own]) ids.push(await enqueue(queue.admin, options, { n: 1 }));
    const tasks = await plain.claim({ start: 4 });
    await plain.settle(
      ...tasks.map((task, nth) => outcome(task, nth < 2 ? 'completed' : 'dead', { reason: 'no' })),
    );
    expect(await called('type, source', 'source')).toEqual([
      { type: 'report', source: `on_complete of ${ids[0]}` },
      { type: 'alarm', source: `on_complete of ${ids[1]}` },
      { type: 'alarm', source: `on_dead of ${ids[2]}` },
      { type: 'alarm', source: `on_dead of ${ids[3]}` },
    ]);
    await set({ on_complete: null, on_dead: null });
    await enqueue(queue.admin);
    await plain.settle(outcome(await claimOne(plain), 'completed'));
    expect(await called('type')).toHaveLength(4);
  });

  test('may be named by its handlers, and an operator overrides them', async () => {
    await worker();
    const plain = await registerWorker(await queue.session(), { work: { on_complete: { type: 'report' } } });
    await enqueue(queue.admin);
    await plain.settle(outcome(await claimOne(plain), 'completed'));
    await set({ on_complete: { type: 'alarm' } });
    await enqueue(queue.admin);
    await plain.settle(outcome(await claimOne(plain), 'completed'));
    expect(await called('type')).toEqual([{ type: 'report' }, { type: 'alarm' }]);
  });

  test.each([[{ on_dead: { type: 'work' } }], [{ on_complete: { type: 'work' } }]])(
    'cannot follow itself: %j is refused',
    async (settings) => {
      await worker();
      await expect(set(settings)).rejects.toMatchObject({ code: '22023', message: /cannot follow itself/ });
      await expect(registerWorker(await queue.session(), { work: settings })).rejects.toMatchObject({
        code: '22023',
      });
    },
  );

  const next = (type: string) => ({ on_complete: { type } });
  /** What a worker with these handlers is told at its start, with its id. */
  const register = (types: object) =>
    queue.admin.value<{ worker_id: number; installation: string }>(
      "select coalesce(extra, '{}') || jsonb_build_object('worker_id', worker_id) from taskq.register_worker($1)",
      JSON.stringify({ host: 'h', pid: 1, unique_part: 'b', lease_ms: 30_000, concurrency: 1, types }),
    );
  const setType = (type: string, settings: object) =>
    queue.admin.rows('select taskq.set_type($1, $2)', type, JSON.stringify(settings));

  test('cannot follow itself over others: a cycle of settings is refused, and named', async () => {
    await worker();
    await knowTypes(queue.admin.client, 'report', 'alarm', 'far');
    await set(next('report'));
    await setType('report', { on_dead: { type: 'alarm' }, on_complete: { type: 'far' } });
    const refusal = {
      code: '22023',
      message:
        'on_complete and on_dead of types: "alarm" -> "work" -> "report" -> "alarm" would follow each other forever',
    };
    await expect(setType('alarm', next('work'))).rejects.toMatchObject(refusal);
    expect(
      await queue.admin.value("select on_complete from taskq.task_types where name = 'alarm'"),
    ).toBeNull();
    expect(await register({ alarm: { ...next('work'), max_attempts: 7 } })).toMatchObject({
      left_out: [{ type: 'alarm', fault: refusal.message }],
    });
    expect(
      await queue.admin.row("select on_complete, max_attempts from taskq.task_types where name = 'alarm'"),
    ).toEqual({ on_complete: null, max_attempts: 7 });
    // What one registration turns round is no cycle, nor is what an operator has overridden.
    await registerWorker(await queue.session(), { alarm: next('far'), far: {} });
    await registerWorker(await queue.session(), { alarm: {}, far: next('alarm') });
    await setType('far', next('alarm'));
    await registerWorker(await queue.session(), { far: next('work') });
    await setType('report', { on_complete: null });
    await expect(setType('far', { on_complete: null })).resolves.toBeDefined();
  });

  test('is refused, too, where the end of an override would close the cycle', async () => {
    await registerWorker(await queue.session(), { work: next('report'), report: {}, far: {} });
    await setType('work', next('far'));
    await registerWorker(await queue.session(), { report: next('work') });
    await expect(setType('work', { on_complete: null })).rejects.toMatchObject({
      code: '22023',
      message:
        'on_complete and on_dead of types: "work" -> "report" -> "work" would follow each other forever',
    });
  });

  test('is checked in time that grows with the settings alone, however many ways there are', async () => {
    await worker();
    const names = Array.from({ length: 60 }, (_, n) => `step${n}`);
    const types = Object.fromEntries(
      names
        .slice(0, -2)
        .map((name, n) => [name, { on_complete: { type: names[n + 1] }, on_dead: { type: names[n + 2] } }]),
    );
    await registerWorker(await queue.session(), types);
    expect(await register({ step59: next('step0') })).toMatchObject({ left_out: [{ type: 'step59' }] });
  });

  test('cannot follow itself by what two sessions set at once', async () => {
    await worker();
    const other = await queue.session();
    await other.rows('begin');
    await other.rows('select taskq.set_type($1, $2)', 'work', JSON.stringify(next('report')));
    const refused = expect(
      (await queue.session()).rows('select taskq.set_type($1, $2)', 'report', JSON.stringify(next('work'))),
    ).rejects.toThrow('follow each other forever');
    await waitUntilBlocked(queue.admin);
    await other.rows('commit');
    await refused;
  });

  test.each(['repeatable read', 'serializable'])(
    'nor by what a transaction at %s cannot see',
    async (level) => {
      await knowTypes(queue.admin.client, 'report');
      const late = await queue.session();
      await late.rows(`begin isolation level ${level}`);
      await late.rows('select from taskq.task_types');
      await expect(late.rows('select taskq.set_type($1, $2)', 'work', next('report'))).rejects.toMatchObject({
        code: '25000',
        message: `set_type: the transaction is ${level}: expected read committed`,
      });
      await late.rows('rollback');
    },
  );

  test('nor by what an operator sets while a worker starts, which waits for nobody', async () => {
    await worker();
    const other = await queue.session();
    await other.rows('begin');
    await other.rows('select taskq.set_type($1, $2)', 'work', JSON.stringify(next('report')));
    const types = { report: next('work'), alarm: { max_attempts: 7 } };
    const { worker_id, installation, ...extra } = await register(types);
    expect(extra).toEqual({ types_left: true });
    const settings = () =>
      queue.admin.rows(
        "select name, on_complete, max_attempts from taskq.task_types where name in ('alarm', 'report') order by 1",
      );
    expect(await settings()).toMatchObject([
      { name: 'alarm', max_attempts: 7 },
      { name: 'report', on_complete: null },
    ]);
    await other.rows('commit');
    const again = 'select stored, extra from taskq.reload_worker($1, $2)';
    expect(await queue.admin.row(again, worker_id, JSON.stringify(types))).toMatchObject({
      stored: true,
      extra: { left_out: [{ type: 'report', fault: expect.stringContaining('forever') }] },
    });
    expect(await settings()).toMatchObject([{ name: 'alarm' }, { name: 'report', on_complete: null }]);
  });

  test('cannot name one that nothing knows', async () => {
    await worker();
    await expect(set({ on_dead: { type: 'alrm' } })).rejects.toMatchObject({
      constraint: 'the_type_is_known',
    });
  });
});

describe('what cannot follow is refused where it is given', () => {
  const doors: Readonly<Record<string, (options: object) => Promise<unknown>>> = {
    enqueue: (options) => enqueue(queue.admin, options),
    'enqueue with a key': (options) => enqueue(queue.admin, { ...options, key: 'k' }),
    'enqueue_many, of a task': (options) =>
      queue.admin.rows(
        'select taskq.enqueue_many($1)',
        JSON.stringify([{ type: 'work' }, { type: 'work', ...options }]),
      ),
    'enqueue_many, of all': (options) =>
      queue.admin.rows(
        'select taskq.enqueue_many($1, $2)',
        JSON.stringify([{ type: 'work' }]),
        JSON.stringify(options),
      ),
  };
  const bad: readonly object[] = [
    { on_dead: { type: 'work' } },
    { on_dead: { type: 'alrm' } },
    { on_complete: { type: 'alrm' } },
    { on_complete: 'report' },
    { on_complete: {} },
    { on_complete: { type: '' } },
    { on_complete: { type: 'report', que: 'x' } },
    { on_complete: { type: 'report', queue: '' } },
    { on_complete: { type: 'report', payload: 5 } },
    { on_complete: { type: 'report', payload: { text: 'x'.repeat(70_000) } } },
  ];
  test.each(Object.keys(doors).flatMap((door) => bad.map((options) => [door, options] as const)))(
    'by %s: %j',
    async (door, options) => {
      await worker();
      await expect(doors[door]!(options)).rejects.toMatchObject({ code: '22023' });
      expect(await queue.admin.rows('select from taskq.tasks')).toEqual([]);
    },
  );

  test.each(Object.keys(doors))('null is none, and an unknown type can be allowed, by %s', async (door) => {
    await worker();
    await doors[door]!({ on_complete: null, on_dead: null });
    expect(await queue.admin.rows('select from taskq.tasks where on_end is not null')).toEqual([]);
  });

  test('a task may be followed at its completion by one of its own type, which is followed by none', async () => {
    const plain = await worker();
    await enqueue(queue.admin, { on_complete: { type: 'work' } });
    await plain.settle(outcome(await claimOne(plain), 'completed'));
    await plain.settle(outcome(await claimOne(plain), 'completed'));
    expect(await queue.admin.rows('select from taskq.tasks')).toEqual([]);
  });
});
