import { afterEach, describe, expect, test, vi } from 'vitest';
import { checkPayload } from '../../../src/domain/check-payload.ts';
import { FunctionError } from '../../../src/domain/function-error.ts';
import { TaskqError } from '../../../src/lib/errors.ts';
import { defineChannel } from '../../../src/worker/handlers/channel.ts';
import type { TaskContext } from '../../../src/worker/handlers/handler.ts';

test('a channel without a call is refused where it is defined, so that a worker does not start with it', () => {
  expect(() => defineChannel({} as never)).toThrow(new TypeError('defineChannel: call: expected a function'));
});

afterEach(() => void vi.restoreAllMocks());

const CONFLICT = new FunctionError('FunctionFailed', 'could not serialize access', { code: '40001' });
const AWAY = new TaskqError('connection_failed', 'cannot reach the database: ECONNREFUSED');

/** Runs a task whose functions reject as `failures` says, each as often as it is long, and answer then; it never waits. */
async function run(failures: Readonly<Record<string, readonly Error[]>>, provider = vi.fn(() => 'sent')) {
  vi.spyOn(Math, 'random').mockReturnValue(0);
  const left = Object.fromEntries(Object.entries(failures).map(([name, errors]) => [name, [...errors]]));
  const called: string[] = [];
  const logged: unknown[] = [];
  const line = (message: string, fields: unknown) => void logged.push([message, fields]);
  const ctx = {
    signal: new AbortController().signal,
    payloadText: '{}',
    timeLeftMs: null,
    log: { warn: line, error: () => {} },
    warn: () => {},
    checkFunction: async () => {},
    async runFunction(name: string) {
      called.push(name);
      const error = left[name]?.shift();
      if (error !== undefined) throw error;
      return { status: 'succeeded', payload: {}, message: null, answer: {} };
    },
  } as unknown as TaskContext;
  const { run: handle } = defineChannel({ call: provider });
  const payload = {
    before_handler: 'a.before',
    success_handler: 'a.success',
    error_handler: 'a.error',
  };
  const end = await Promise.resolve(handle(payload, ctx)).catch((error: unknown) => error);
  return { end, called, logged, provider };
}

const times = (count: number, error: Error) => Array.from({ length: count }, () => error);

describe('a function that cannot be called just now', () => {
  test('is called ten times, each failure is logged, and the tenth is that of the function', async () => {
    const { end, called, logged, provider } = await run({ 'a.before': times(11, CONFLICT) });
    expect(end).toEqual({ status: 'failed', error: 'could not serialize access' });
    expect(called).toEqual([...Array.from({ length: 10 }, () => 'a.before'), 'a.error']);
    expect(provider).not.toHaveBeenCalled();
    expect(logged.slice(0, 9)).toEqual(
      Array.from({ length: 9 }, (_, n) => [
        'a.before is called again',
        { error: 'could not serialize access', calls: n + 1 },
      ]),
    );
  });

  test('and that of success_handler makes a dead letter, and calls the provider once', async () => {
    const { end, called, provider } = await run({ 'a.success': times(11, CONFLICT) });
    expect(end).toMatchObject({ message: expect.stringContaining('but a.success has failed') });
    expect(called.filter((name) => name === 'a.success')).toHaveLength(10);
    expect(provider).toHaveBeenCalledOnce();
  });

  test('but is called for as long as the database is away: the worker logs that', async () => {
    const { end, called, logged } = await run({ 'a.success': [CONFLICT, ...times(50, AWAY)] });
    expect(end).toMatchObject({ status: 'succeeded' });
    expect(called).toHaveLength(1 + 51 + 1);
    expect(logged).toHaveLength(1);
  });
});

test('a call that has failed is in the log, also where error_handler has recorded it', async () => {
  const { end, logged } = await run(
    {},
    vi.fn(() => Promise.reject(new Error('the bank answered 503')) as never),
  );
  expect(end).toEqual({ status: 'failed', error: 'the bank answered 503' });
  expect(logged).toEqual([
    ['a.error has recorded a failure', { status: 'failed', error: 'the bank answered 503' }],
  ]);
});

describe('a payload', () => {
  const problemOf = async (payload: object) => {
    const { schema } = defineChannel({ call: () => 'sent' });
    const checked = await checkPayload(schema, payload);
    return 'problem' in checked ? checked.problem : null;
  };

  test.each([
    [{ success_handler: 'nope' }, '$.success_handler: "nope": expected schema.function, as comms.record'],
    [{ error_handler: 'a.b.c' }, '$.error_handler: "a.b.c": expected schema.function, as comms.record'],
    [
      { before_handler: 'a.b(jsonb)' },
      '$.before_handler: "a.b(jsonb)": expected schema.function, as comms.record',
    ],
    [{ error_handler: 7 }, '$.error_handler: 7: expected schema.function, as comms.record'],
    [{ sucess_handler: 'a.b' }, '$.sucess_handler: no such handler: did you mean success_handler?'],
    [
      { after_handler: 'a.b' },
      '$.after_handler: no such handler: there are before_handler, success_handler, error_handler',
    ],
  ])('%j is refused before anything is called', async (payload, problem) => {
    expect(await problemOf(payload)).toBe(problem);
  });

  test.each([{}, { before_handler: ' a . b ', success_handler: '"A ""x"".y".é$1', handler: 1 }])(
    '%j is none to refuse',
    async (payload) => {
      expect(await problemOf(payload)).toBeNull();
    },
  );
});
