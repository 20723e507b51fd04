import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { nearest } from '../../src/lib/nearest.ts';
import { enqueue, liveRow } from './rows.ts';
import { useDatabase } from './session.ts';
import { outcome, registerWorker } from './worker.ts';

const queue = useDatabase();

/** Of each option one value that cannot be, or more. */
const BAD: readonly (readonly [option: string, ...values: unknown[]])[] = [
  ['queue', '', 'q'.repeat(201)],
  ['key', '', 'k'.repeat(501)],
  ['group', '', 'g'.repeat(201), 'ä'.repeat(101), 5, ['ann']],
  ['priority', 10, -1, 1.5, 'urgent', true],
  ['delay_ms', -1, '5s', 0.5, 3_155_760_000_001],
  ['at', 'infinity', '-infinity', 'soon', '2030-02-31T00:00:00Z', '10000-01-01T00:00:00Z'],
  ['max_attempts', 0, -1, 1.5, 'many', 2_147_483_648],
  ['timeout_ms', 0, -1, '30s', 3_155_760_000_001],
  ['expires_ms', 0, -1, {}, 3_155_760_000_001],
  ['tags', [], 'a'],
  ['retention', 'for a while', '7', '0d', 7],
  [
    'backoff',
    '5s',
    {},
    [],
    { kind: 'random' },
    { kind: 'fixed', base_ms: '5s' },
    { kind: 'fixed', max_ms: '1h' },
  ],
  ['backoff', { kind: 'fixed', base_ms: -1 }, { kind: 'fixed', base: 5 }, { kind: 'fixed', base_ms: [5] }],
  ['backoff', { kind: 'exponential', factor: 0.5 }, { kind: 'exponential', factor: 101 }],
  [
    'backoff',
    { kind: 'fixed', jitter: 2 },
    { kind: 'fixed', jitter: null },
    { kind: 'linear', base_ms: 1e300 },
  ],
  ['traceparent', 't'.repeat(501)],
  ['source', 's'.repeat(501)],
  ['notify_done', 'perhaps'],
  ['on_held', 'replcae', 'Replace', '', 5, true],
  ['key_for', 'bogus', 0, '0d', -1, '1y', 3_155_760_000_001, true],
];

const MANY = 'select from taskq.enqueue_many(jsonb_build_array(\'{"type":"work"}\'::jsonb, $1::jsonb), $2)';

describe('an option that cannot be is refused with its name and its value, wherever it comes from', () => {
  const cases = BAD.flatMap(([option, ...values]) => values.map((value) => [option, value] as const));

  test.each(cases)('%s %j', async (option, value) => {
    const given = { key: 'k', [option]: value };
    const expected = (of: string) => ({
      code: '22023',
      message: expect.stringMatching(
        new RegExp(`^${of}: ${option} ${escaped(shown(value))}.*: expected `, 's'),
      ),
    });
    const refusal = (text: string, ...values: unknown[]) =>
      queue.admin.rows(text, ...values).then(
        () => 'taken',
        (error: Error & { code: string }) => ({ code: error.code, message: error.message }),
      );
    expect(await refusal("select from taskq.enqueue('work', '{}', $1)", given)).toEqual(expected('enqueue'));
    const { key: _, ...keyless } = given;
    if (option !== 'key') {
      expect(await refusal("select from taskq.enqueue('work', '{}', $1)", keyless)).toEqual(
        expected('enqueue'),
      );
    }
    for (const element of [given, option === 'key' ? given : keyless]) {
      expect(await refusal(MANY, { type: 'work', ...element }, {})).toEqual(
        expected('task 2 cannot be enqueued'),
      );
    }
    expect(await refusal(MANY, { type: 'work' }, option === 'key' ? given : keyless)).toEqual(
      expected('enqueue_many'),
    );
    if (['max_attempts', 'delay_ms'].includes(option)) {
      expect(await refusal("select from taskq.revive('{1}', $1)", { [option]: value })).toEqual(
        expected('revive'),
      );
    }
    if (['max_attempts', 'timeout_ms', 'backoff', 'retention'].includes(option)) {
      const about = { host: 'a', pid: 1, unique_part: 'a', lease_ms: 1000, concurrency: 1 };
      const types = { work: { [option]: value } };
      expect(await refusal('select from taskq.register_worker($1)', { ...about, types })).toEqual(
        expected('type work'),
      );
      expect(await refusal("select from taskq.set_queue('q', $1)", { [option]: value })).toEqual(
        expected('set_queue'),
      );
    }
    expect(await queue.admin.value('select count(*)::int from taskq.tasks')).toBe(0);
  });
});

describe('a setting of groups that cannot be is refused with its name and its value', () => {
  const bad: readonly (readonly [setting: string, ...values: unknown[]])[] = [
    ['group_limit', 0, -1, 1.5, 2_147_483_648, 'one', [1]],
    ['group_rate', '5', '0/1s', '1/0s', '1/1w', '1000001/1s', '1/367d', 5, ''],
    ['group_burst', 0, -1, 1.5, 100_001, 'one'],
    ['group_order', 'fifo', '', 'Strict', true],
    ['group_on_dead', 'stop', 'goon', 1],
    ['group_by', 'tenant', '', true],
  ];
  const refusal = (text: string, ...values: unknown[]) =>
    queue.admin.rows(text, ...values).then(
      () => 'taken',
      (error: Error & { code: string }) => ({ code: error.code, message: error.message }),
    );
  const expected = (of: string, name: string, value: unknown) => ({
    code: '22023',
    message: expect.stringMatching(
      new RegExp(`^${of}: ${name} ${escaped(JSON.stringify(value))}: expected `),
    ),
  });

  test.each(bad.flatMap(([setting, ...values]) => values.map((value) => [setting, value] as const)))(
    '%s %j',
    async (setting, value) => {
      expect(await refusal("select from taskq.set_queue('q', $1)", { [setting]: value })).toEqual(
        expected('set_queue', setting, value),
      );
      const about = { host: 'a', pid: 1, unique_part: 'a', lease_ms: 1000, concurrency: 1, types: {} };
      const queue_settings = { q: { [setting]: value } };
      expect(await refusal('select from taskq.register_worker($1)', { ...about, queue_settings })).toEqual(
        expected('queue q', setting, value),
      );
      expect(await queue.admin.rows('select from taskq.queues union all select from taskq.workers')).toEqual(
        [],
      );
    },
  );

  test('of a single group: its settings, its name and that of its queue', async () => {
    const long = 'g'.repeat(201);
    for (const [setting, ...values] of [
      ['limit', 0, -1, 1.5, 2_147_483_648, 'one'],
      ['rate', '5', '0/1s', '1/0s', 'often', 5, ''],
      ['burst', 0, -1, 1.5, 100_001, 'one'],
    ] as const)
      for (const value of values)
        expect(await refusal("select taskq.set_group('q', 'ann', $1)", { [setting]: value })).toEqual(
          expected('set_group', setting, value),
        );
    expect(await refusal("select taskq.set_group('q', 'ann', $1)", { burst: 5 })).toEqual({
      code: '22023',
      message: 'set_group: burst 5 needs a rate',
    });
    expect(await refusal("select taskq.set_queue('q', $1)", { group_burst: 5 })).toEqual({
      code: '22023',
      message: 'set_queue: group_burst 5 needs a rate',
    });
    expect(await queue.admin.rows('select from taskq.groups union all select from taskq.queues')).toEqual([]);
    for (const verb of ['set_group', 'pause_group', 'resume_group', 'show_group']) {
      const settings = verb === 'set_group' ? `, '{"limit": 1}'` : '';
      for (const name of ['', long, null]) {
        const cut = JSON.stringify(name).slice(0, 200);
        for (const [place, values] of [
          ['group', ['q', name]],
          ['queue', [name, 'ann']],
        ] as const)
          expect(await refusal(`select taskq.${verb}($1, $2${settings})`, ...values)).toEqual({
            code: '22023',
            message: `${verb}: ${place} ${cut}${name === long ? '…' : ''}: expected text of 1 to 200 bytes`,
          });
      }
    }
    expect(await queue.admin.rows('select from taskq.groups union all select from taskq.asks')).toEqual([]);
  });
});

describe('a name that is no option is refused, and the one that is meant is named', () => {
  test.each([
    [
      "select from taskq.enqueue('work', '{}', $1)",
      { delayms: 5 },
      'enqueue: unknown option "delayms" (did you mean "delay_ms"?)',
    ],
    [
      "select from taskq.enqueue('work', '{}', $1)",
      { grade: 1, maxAttempts: 5 },
      'enqueue: unknown option "grade", "maxAttempts" (did you mean "max_attempts"?)',
    ],
    [
      "select from taskq.enqueue_many('[]', $1)",
      { prio: 5 },
      'enqueue_many: unknown option "prio" (did you mean "priority"?)',
    ],
    [
      'select from taskq.enqueue_many(jsonb_build_array($1::jsonb))',
      { type: 'work', timeout: 5 },
      'task 1 cannot be enqueued: unknown option "timeout" (did you mean "timeout_ms"?)',
    ],
    [
      "select from taskq.enqueue_many(jsonb_build_array(jsonb_build_object('type', 'work'), $1::jsonb))",
      { type: 'work', allow_unknown: true },
      'task 2 cannot be enqueued: unknown option "allow_unknown"',
    ],
    [
      "select from taskq.revive('{1}', $1)",
      { delay: 5 },
      'revive: unknown option "delay" (did you mean "delay_ms"?)',
    ],
    ["select from taskq.retry('{1}', $1)", { delay_ms: 5 }, 'retry: unknown option "delay_ms"'],
    [
      "select from taskq.cancel('{1}', null, $1)",
      { notifydone: true },
      'cancel: unknown option "notifydone" (did you mean "notify_done"?)',
    ],
    ["select from taskq.discard('{1}', $1)", { all: true }, 'discard: unknown option "all"'],
    ["select from taskq.purge('{1}', $1)", { all: true }, 'purge: unknown option "all"'],
    ["select taskq.add_dead(1, 'why', $1)", { all: true }, 'add_dead: unknown option "all"'],
    ["select from taskq.add_types('{work}', $1)", { all: true }, 'add_types: unknown option "all"'],
    [
      "select from taskq.rerun('{1}', $1)",
      { delay: 5 },
      'rerun: unknown option "delay" (did you mean "delay_ms"?)',
    ],
    ["select from taskq.resume_queue('q', $1)", { all: true }, 'resume_queue: unknown option "all"'],
    ['select from taskq.resume_worker(1, $1)', { all: true }, 'resume_worker: unknown option "all"'],
    [
      "select from taskq.claim(1, '{q}', '{t}', 1, 0, 1, null, null, $1)",
      { all: true },
      'claim: unknown option "all"',
    ],
    [
      "select from taskq.complete(1, '{1}', '{1}', options => $1)",
      { all: true },
      'complete: unknown option "all"',
    ],
    ["select from taskq.settle(1, '[]', $1)", { all: true }, 'settle: unknown option "all"'],
    [
      "select from taskq.give_back(1, '{1}', '{1}', '{t}', $1)",
      { all: true },
      'give_back: unknown option "all"',
    ],
    [
      "select from taskq.heartbeat(1, '{1}', '{1}', '{1}', 1, $1)",
      { cursor: [] },
      'heartbeat: unknown option "cursor" (did you mean "cursors"?)',
    ],
    ['select from taskq.rescue(0, 1, options => $1)', { all: true }, 'rescue: unknown option "all"'],
    ['select from taskq.end_rescue(1, $1)', { all: true }, 'end_rescue: unknown option "all"'],
    ['select from taskq.list_queues($1)', { nmae: 'q' }, 'list_queues: unknown option "nmae"'],
    ['select from taskq.list_types($1)', { all: true }, 'list_types: unknown option "all"'],
    ['select from taskq.list_workers(options => $1)', { al: true }, 'list_workers: unknown option "al"'],
    [
      'select from taskq.find_tasks($1, 1)',
      { typ: 'work' },
      'filter: unknown option "typ" (did you mean "type"?)',
    ],
    [
      "select taskq.set_queue('q', $1)",
      { time_out_ms: 5 },
      'set_queue: unknown option "time_out_ms" (did you mean "timeout_ms"?)',
    ],
    [
      'select taskq.set_worker(1, $1)',
      { queue: 'a' },
      'set_worker: unknown option "queue" (did you mean "queues"?)',
    ],
    ["select taskq.reload_worker(1, '{}', $1)", { all: true }, 'reload_worker: unknown option "all"'],
    [
      `select from taskq.register_worker(
         '{"host": "h", "pid": 1, "unique_part": "u", "lease_ms": 1000, "concurrency": 1}'
           || jsonb_build_object('types', jsonb_build_object('work', $1::jsonb)))`,
      { timeout: 5 },
      'type work: unknown option "timeout" (did you mean "timeout_ms"?)',
    ],
  ])('%s', async (text, options, message) => {
    await expect(queue.admin.rows(text, options)).rejects.toMatchObject({
      code: '22023',
      message: expect.stringMatching(new RegExp(`^${escaped(message)}`)),
    });
  });

  test('SQL means the same name as the command line and the library', async () => {
    const names = ['queue', 'priority', 'delay_ms', 'at', 'max_attempts', 'timeout_ms', 'tags', 'Key'];
    const typed = [
      ...names,
      'quue',
      'PRIO',
      'delayms',
      'ta',
      'maxAttempts',
      'timeout',
      'tgas',
      'key',
      'kye',
      'qeueu',
      'prioirty',
      'dealy_sm',
      'tiemout_ms',
      '',
      'é',
    ];
    const rows = await queue.admin.rows<{ name: string | null }>(
      'select taskq.nearest_name(typed, $1) as name from unnest($2::text[]) as typed',
      names,
      typed,
    );
    expect(rows.map(({ name }) => name ?? undefined)).toEqual(typed.map((word) => nearest(word, names)[0]));
  });

  test('the refusal of an unknown priority names the nearest', async () => {
    await expect(enqueue(queue.admin, { priority: 'hgh' })).rejects.toThrow(
      'enqueue: priority "hgh": expected 0 to 9 (0 is the most urgent, 9 the least) or critical, high, medium, low (did you mean "high"?)',
    );
  });

  test.each([
    ['hihg', 'high'],
    ['hgih', 'high'],
    ['lwo', 'low'],
  ])('the refusal of priority %s means %s', async (typed, meant) => {
    await expect(enqueue(queue.admin, { priority: typed })).rejects.toThrow(`(did you mean "${meant}"?)`);
  });

  test.each(['5', '"text"', '[]', '[1]'])('options that are no object (%s) are refused', async (options) => {
    for (const text of [
      "select from taskq.enqueue('work', '{}', $1)",
      `select from taskq.enqueue_many('[{"type":"work"}]', $1)`,
      'select from taskq.enqueue_many(jsonb_build_array($1::jsonb))',
      "select from taskq.retry('{1}', $1)",
    ]) {
      await expect(queue.admin.rows(text, options), text).rejects.toMatchObject({ code: '22023' });
    }
  });
});

test('null says nothing: as the options, and as the value of each', async () => {
  const nothing = Object.fromEntries(BAD.map(([option]) => [option, null]));
  const task = `'{"type":"work"}'::jsonb`;
  const tasks = `jsonb_build_array(${task} || coalesce($1, '{}'), ${task})`;
  for (const options of [null, '{}', nothing]) {
    await queue.admin.rows("select from taskq.enqueue('work', '{}', $1)", options);
    await queue.admin.rows(
      `select from taskq.enqueue_many(${tasks.replace('$1', '$1::jsonb')}, $1::jsonb)`,
      options,
    );
  }
  const rows = await queue.admin.rows<{ count: number }>(
    `select count(*)::int from taskq.tasks
     group by to_jsonb(tasks) - array['id', 'created_at', 'available_at', 'not_before']`,
  );
  expect(rows).toHaveLength(1);
});

test.each(['priority', 'delay_ms', 'max_attempts', 'timeout_ms', 'expires_ms'])(
  'a whole number with a point is refused by name, as no column reads it: %s',
  async (option) => {
    for (const given of [`{"${option}": 1.0}`, `{"source": "s", "${option}": 1.0}`]) {
      await expect(
        queue.admin.rows("select from taskq.enqueue('work', '{}', $1)", given),
      ).rejects.toMatchObject({
        code: '22023',
        message: expect.stringMatching(`^enqueue: ${option} 1[.]0: expected `),
      });
    }
  },
);

test('a priority goes by its name, too', async () => {
  for (const [place, name] of ['critical', 'high', 'medium', 'low'].entries()) {
    const one = await enqueue(queue.admin, { priority: name });
    const [two, three, four] = await queue.admin.rows<{ id: string }>(
      'select id from taskq.enqueue_many($1, $2) order by place',
      JSON.stringify([{ type: 'work' }, { type: 'work', priority: 7 }, { type: 'work', priority: name }]),
      { priority: name },
    );
    for (const id of [one, two!.id, four!.id]) {
      expect(await liveRow(queue.admin, id)).toMatchObject({ priority: place });
    }
    expect(await liveRow(queue.admin, three!.id)).toMatchObject({ priority: 7 });
  }
});

test.each([
  ['3d', 259_200],
  ['1h30m', 5400],
  ['500ms', 0.5],
  ['2m1s', 121],
  [90_000, 90],
])('a key is held for a period of any length: %s', async (period, seconds) => {
  await enqueue(queue.admin, { key: 'k', key_for: period });
  const held = 'select extract(epoch from until - clock_timestamp())::float as left from taskq.held_keys';
  const left = await queue.admin.value<number>(held);
  expect(left).toBeLessThanOrEqual(seconds);
  expect(left).toBeGreaterThan(seconds - 60);
});

test.each([
  "taskq.queues (name, backoff) values ('q', $1)",
  "taskq.task_types (name, first_seen_at, backoff) values ('t', '2026-01-01', $1)",
])('no table of settings takes a back-off that cannot be computed: %s', async (into) => {
  for (const [option, ...values] of BAD) {
    for (const value of option === 'backoff' ? values : []) {
      await expect(queue.admin.rows(`insert into ${into}`, JSON.stringify(value))).rejects.toMatchObject({
        code: '23514',
        constraint: 'a_backoff_has_a_kind_and_numbers_in_range',
      });
    }
  }
  await queue.admin.rows(`insert into ${into}`, JSON.stringify({ kind: 'fixed', base_ms: 5 }));
});

test.each([
  "enqueue('wrok')",
  "enqueue('')",
  `enqueue('work', '{}', '{"priority": "hgh"}')`,
  `enqueue('wrok', '{}', '{"key": "k"}')`,
  `enqueue_many('[{"type": "wrok"}]')`,
  `enqueue_many('[{"type": "work", "delay_ms": 1}, {"type": "work", "delay_ms": -1}]')`,
  `cancel('{1}', null, '{"notify_done": 5}')`,
  `revive('{1}', '{"delay_ms": -5}')`,
  `rerun('{1}', '{"dely_ms": 5}')`,
  `purge('{1}', '{"by": ""}')`,
  `set_queue('mail', '{"max_attempts": 0}')`,
  `set_type('work', '{"retries": 5}')`,
  "pause_queue('')",
])('psql shows a screen of context at most with what is refused: %s', async (call) => {
  const error = await queue.admin
    .rows(`select taskq.${call}`)
    .catch((refused: { where?: string }) => refused);
  expect((error as { where: string }).where.split('\n').length).toBeLessThanOrEqual(11);
});

const json = fc.jsonValue({ maxDepth: 1 });
const ms = fc.oneof(fc.integer({ min: 1, max: 10 }), fc.integer({ min: 1, max: 3_155_760_000_000 }));
const number = fc.oneof(fc.double({ min: 1, max: 100, noNaN: true }), fc.constantFrom(0, 100.5, 1e300));
const or = (likely: fc.Arbitrary<unknown>) =>
  fc.oneof({ weight: 25, arbitrary: likely }, { weight: 1, arbitrary: json });
const backoff = fc.record(
  {
    kind: or(fc.constantFrom('fixed', 'linear', 'quadratic', 'exponential')),
    ...{
      base_ms: or(ms),
      factor: or(number),
      max_ms: or(ms),
      jitter: or(fc.double({ min: 0, max: 1, noNaN: true })),
    },
  },
  { requiredKeys: ['kind'] },
);
const anyOptions = fc.record(
  {
    ...{
      priority: or(fc.integer({ min: 0, max: 9 })),
      delay_ms: or(ms),
      expires_ms: or(ms),
      timeout_ms: or(ms),
    },
    max_attempts: or(fc.integer({ min: 1, max: 3 })),
    ...{ tags: or(fc.dictionary(fc.string(), fc.string({ minLength: 1 }))), backoff: or(backoff) },
    retention: or(fc.constantFrom('none', 'ever', '1d', '99999d')),
    at: or(fc.constantFrom('2020-01-01Z', '9999-12-31T23:00:00Z', '4714-11-24 00:00:00+00 BC')),
    ...{
      key: or(fc.string({ minLength: 1 })),
      key_for: or(fc.constantFrom('live', 'ever', '1d', '36500d', 5)),
      on_held: or(fc.constantFrom('ignore', 'replace', 'preserve')),
      traceparent: or(fc.string({ minLength: 1 })),
    },
    source: or(fc.string({ minLength: 1 })),
  },
  { requiredKeys: [] },
);

test('what enqueue takes, a worker can fail, retry and end without trouble; and a bulk takes the same', async () => {
  const worker = await registerWorker(queue.admin);
  let taken = 0;
  await fc.assert(
    fc.asyncProperty(anyOptions, async (options) => {
      const given = JSON.stringify(options);
      const tries = (text: string) =>
        queue.admin.rows(text, given).then(
          () => true,
          (error: { code: string; message: string }) => {
            if (/\\u0000|surrogate/.test(error.message)) return false;
            expect(error).toMatchObject({ code: expect.stringMatching(/^(22023|22P05)$/) });
            return false;
          },
        );
      const isTaken = await tries("select from taskq.enqueue('work', '{}', $1)");
      await queue.admin.rows('delete from taskq.held_keys');
      await queue.admin.rows('delete from taskq.tasks');
      const task = '\'{"type":"work"}\'::jsonb';
      expect(await tries(`select from taskq.enqueue_many(jsonb_build_array(${task} || $1::jsonb))`)).toBe(
        isTaken,
      );
      await queue.admin.rows('delete from taskq.held_keys');
      await queue.admin.rows('delete from taskq.tasks');
      const inBulk = `select from taskq.enqueue_many(jsonb_build_array(${task} || $1::jsonb, ${task} || $1::jsonb))`;
      expect(await tries(inBulk)).toBe(isTaken);
      if (!isTaken) return;
      taken += 1;
      for (let attempt = 1; attempt <= 3; attempt++) {
        await queue.admin.rows(
          "update taskq.tasks set queue = 'default', available_at = clock_timestamp(), expires_at = null",
        );
        const claimed = await worker.claim({ start: 2 });
        if (claimed.length === 0) break;
        for (const task of claimed) {
          const [answer] = await worker.settle(outcome(task, 'failed', { error: { message: 'no' } }));
          expect(answer).toMatchObject({ answer: 'recorded' });
        }
      }
      expect(await queue.admin.value('select count(*)::int from taskq.tasks where attempts < 3')).toBe(0);
      await queue.admin.rows('delete from taskq.tasks');
      await queue.admin.rows('delete from taskq.held_keys');
    }),
    { numRuns: 200, seed: 20_261_122 },
  );
  expect(taken).toBeGreaterThan(20);
});

/** How its text begins: jsonb orders the keys of an object in its own way. */
function shown(value: unknown): string {
  return typeof value === 'object' ? JSON.stringify(value).slice(0, 1) : JSON.stringify(value).slice(0, 100);
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
