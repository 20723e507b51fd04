import { describe, expect, test } from 'vitest';
import { useDatabase } from './session.ts';

const queue = useDatabase();

/** One value of each type of JSON, and more where one could be taken for another type. */
const SAMPLES: readonly (readonly [type: string, ...values: unknown[]])[] = [
  ['string', '5', 'true'],
  ['number', 5, 20_300_101],
  ['boolean', true, false],
  ['array', [], ['x'], [5], [true], ['live'], [{}]],
  ['object', { a: 1 }],
];

/** What each option is in JSON. */
const OPTIONS: Readonly<Record<string, readonly string[]>> = {
  queue: ['string'],
  key: ['string'],
  priority: ['string', 'number'],
  delay_ms: ['number'],
  at: ['string'],
  max_attempts: ['number'],
  timeout_ms: ['number'],
  expires_ms: ['number'],
  key_for: ['string', 'number'],
  on_held: ['string'],
  tags: ['object'],
  retention: ['string'],
  backoff: ['object'],
  traceparent: ['string'],
  notify_done: ['boolean'],
  source: ['string'],
};

const wrong = Object.entries(OPTIONS).flatMap(([option, right]) =>
  SAMPLES.filter(([type]) => !right.includes(type)).flatMap(([, ...values]) =>
    values.map((value) => [option, value] as const),
  ),
);

const MANY = "select from taskq.enqueue_many(jsonb_build_array('{}'::jsonb, $1::jsonb), $2)";

async function refusalOf(text: string, ...values: unknown[]) {
  const refusal = await queue.admin.rows(text, ...values.map((value) => JSON.stringify(value))).then(
    () => 'taken',
    (error: Error & { code: string }) => ({ code: error.code, message: error.message }),
  );
  expect(await queue.admin.value('select count(*)::int from taskq.tasks')).toBe(0);
  return refusal;
}

function refused(of: string, option: string, value: unknown) {
  // As jsonb writes it.
  const shown = JSON.stringify(value).replaceAll(':', ': ');
  return {
    code: '22023',
    message: expect.stringContaining(`${of}: ${option} ${shown}: expected `),
  };
}

describe('a value of another type of JSON than its option has is refused by name, and nothing is enqueued', () => {
  test.each(wrong)('%s %j', async (option, value) => {
    const one = "select from taskq.enqueue('work', '{}', $1)";
    const given = { [option]: value };
    expect(await refusalOf(one, given)).toEqual(refused('enqueue', option, value));
    expect(await refusalOf(one, { source: 's', ...given })).toEqual(refused('enqueue', option, value));
    for (const common of [{ type: 'work' }, { type: 'work', key: 'k' }]) {
      expect(await refusalOf(MANY, given, common)).toEqual(
        refused('task 2 cannot be enqueued', option, value),
      );
      expect(await refusalOf(MANY, { type: 'work' }, { ...common, ...given })).toEqual(
        refused('enqueue_many', option, value),
      );
    }
    expect(await refusalOf('select from taskq.enqueue_many(jsonb_build_array($1::jsonb))', given)).toEqual(
      refused('task 1 cannot be enqueued', option, value),
    );
  });

  test.each(SAMPLES.slice(1).flatMap(([, ...values]) => values))('type %j', async (type) => {
    const call = { allow_unknown: true };
    expect(await refusalOf(MANY, { type }, { type: 'work', ...call })).toEqual(
      refused('task 2 cannot be enqueued', 'type', type),
    );
    expect(await refusalOf(MANY, { type, queue: 'q' }, { type: 'work', ...call })).toEqual(
      refused('task 2 cannot be enqueued', 'type', type),
    );
    expect(await refusalOf(MANY, {}, { type, ...call })).toEqual(refused('enqueue_many', 'type', type));
  });

  test.each([{ a: 5 }, { a: 'x', b: ['y'] }, { a: {} }, { a: true }])('tags %j', async (tags) => {
    const refusal = {
      code: '22023',
      message: expect.stringMatching(/: tags .*: expected an object whose values are text/),
    };
    expect(await refusalOf("select from taskq.enqueue('work', '{}', $1)", { tags })).toEqual(refusal);
    expect(await refusalOf(MANY, { tags }, { type: 'work' })).toEqual(refusal);
    expect(await refusalOf(MANY, {}, { type: 'work', tags })).toEqual(refusal);
  });
});

test.each(['queue', 'key', 'traceparent', 'source'])(
  'a text that looks like JSON is a text like any other: %s',
  async (option) => {
    for (const text of ['["x"]', '[', '5', 'true', '{}', 'null']) {
      const given = JSON.stringify({ [option]: text });
      const column = option === 'key' ? 'unique_key' : option;
      await queue.admin.rows("select from taskq.enqueue('work', '{}', $1)", given);
      await queue.admin.rows("delete from taskq.tasks where $1 <> ''", text);
      await queue.admin.rows(
        `select from taskq.enqueue_many(jsonb_build_array($1::jsonb, '{}'::jsonb), '{"type":"work"}')`,
        given,
      );
      expect(
        await queue.admin.value(`select count(*)::int from taskq.tasks where ${column} = $1`, text),
      ).toBe(1);
      await queue.admin.rows('delete from taskq.tasks');
    }
  },
);

test('what a type, a queue or all tasks are set to is judged the same', async () => {
  for (const text of [
    "select taskq.set_type('work', $1)",
    "select taskq.set_queue('q', $1)",
    'select taskq.set_defaults($1)',
  ]) {
    for (const given of [
      { max_attempts: '5' },
      { timeout_ms: '5' },
      { retention: ['7d'] },
      { backoff: 'fixed' },
    ]) {
      const [option] = Object.keys(given);
      await expect(queue.admin.rows(text, JSON.stringify(given))).rejects.toMatchObject({
        code: '22023',
        message: expect.stringMatching(new RegExp(`: ${option} .*: expected `)),
      });
    }
  }
});
