import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { outcomeOf } from '../../src/domain/outcome.ts';
import { Again, Cancel, Dead, Retry, Snooze } from '../../src/domain/signals.ts';
import { expectStorableError, expectStorableResult, oddValueMaker } from './odd-values.ts';

const noResult = { result: null, resultNote: null };

test('a handler that returns completes its task with what it returned', () => {
  expect(outcomeOf({ kind: 'returned', value: { sent: true } })).toEqual({
    kind: 'completed',
    reportedBy: 'handler',
    result: '{"sent":true}',
    resultNote: null,
  });
  expect(outcomeOf({ kind: 'returned', value: undefined })).toMatchObject({ kind: 'completed', ...noResult });
});

test('a handler that throws burns an attempt, and the back-off decides when the next one is', () => {
  expect(outcomeOf({ kind: 'threw', thrown: new TypeError('no') })).toMatchObject({
    kind: 'failed',
    reportedBy: 'handler',
    error: { name: 'TypeError', message: 'no' },
    delayMs: null,
    ...noResult,
  });
});

describe('a handler that throws', () => {
  test('Retry says itself when the next attempt is, and may leave a result', () => {
    const thrown = new Retry({ delay: '10m', message: 'busy', cause: new Error('503'), result: { page: 3 } });
    expect(outcomeOf({ kind: 'threw', thrown })).toMatchObject({
      kind: 'failed',
      reportedBy: 'handler',
      delayMs: 600_000,
      error: { name: 'Retry', message: 'busy', cause: { message: '503' } },
      result: '{"page":3}',
    });
    expect(outcomeOf({ kind: 'threw', thrown: new Retry() })).toMatchObject({
      kind: 'failed',
      delayMs: null,
      ...noResult,
    });
  });

  test('Dead makes a dead letter with the reason', () => {
    expect(outcomeOf({ kind: 'threw', thrown: new Dead('no such user') })).toMatchObject({
      kind: 'dead',
      reportedBy: 'handler',
      reason: 'no such user',
      error: { name: 'Dead', message: 'no such user' },
    });
  });

  test('Snooze puts the task off without burning an attempt', () => {
    expect(outcomeOf({ kind: 'threw', thrown: new Snooze('5m', { result: 1 }) })).toEqual({
      kind: 'snoozed',
      reportedBy: 'handler',
      delayMs: 300_000,
      result: '1',
      resultNote: null,
    });
  });

  test('Cancel ends the task as cancelled', () => {
    expect(outcomeOf({ kind: 'threw', thrown: new Cancel('not wanted') })).toEqual({
      kind: 'cancelled',
      reportedBy: 'handler',
      reason: 'not wanted',
      killed: false,
    });
  });
});

describe('a handler that returns Again', () => {
  test('completes its task, and says when and with what it runs again', () => {
    const value = new Again({ delay: '1h', payload: { page: 2 }, result: [1] });
    expect(outcomeOf({ kind: 'returned', value })).toEqual({
      ...{ kind: 'completed', reportedBy: 'handler', result: '[1]', resultNote: null },
      again: { delayMs: 3_600_000, payload: '{"page":2}' },
    });
    expect(outcomeOf({ kind: 'threw', thrown: new Again() })).toEqual({
      ...{ kind: 'completed', reportedBy: 'handler', ...noResult },
      again: { delayMs: 0, payload: null },
    });
    expect(outcomeOf({ kind: 'returned', value: new Again({ payload: null }) })).toMatchObject({
      again: { payload: 'null' },
    });
  });

  test('cannot be made with a payload or a delay that cannot be', () => {
    expect(() => new Again({ payload: { text: '\0' } })).toThrow('$.text has a NUL character');
    expect(() => new Again({ payload: 'x'.repeat(1_048_577) })).toThrow('larger than 1 MB');
    expect(() => new Again({ payload: () => {} })).toThrow('it has no JSON form');
    expect(() => new Again({ delay: 'soon' })).toThrow('Again delay "soon"');
  });

  test('has failed if its payload became one that cannot be stored', () => {
    const payload = { text: 'a' };
    const value = new Again({ payload });
    payload.text = '\0';
    expect(outcomeOf({ kind: 'returned', value })).toMatchObject({
      kind: 'failed',
      error: { name: 'InvalidPayloadError', message: expect.stringMatching('NUL character') },
    });
  });
});

test('a signal that is returned means the same as one that is thrown', () => {
  expect(outcomeOf({ kind: 'returned', value: new Snooze('5m') })).toMatchObject({
    kind: 'snoozed',
    delayMs: 300_000,
  });
});

test('a signal of another copy of the package is understood', async () => {
  vi.resetModules();
  const copy = await import('../../src/domain/signals.ts');
  expect(copy.Retry).not.toBe(Retry);
  expect(outcomeOf({ kind: 'threw', thrown: new copy.Snooze('1s') })).toMatchObject({
    kind: 'snoozed',
    delayMs: 1000,
  });
  expect(outcomeOf({ kind: 'threw', thrown: new copy.Retry({ delay: 5 }) })).toMatchObject({
    kind: 'failed',
    delayMs: 5,
  });
  expect(outcomeOf({ kind: 'threw', thrown: new copy.Dead('x') })).toMatchObject({
    kind: 'dead',
    reason: 'x',
  });
  expect(outcomeOf({ kind: 'threw', thrown: new copy.Cancel('x') })).toMatchObject({
    kind: 'cancelled',
    reason: 'x',
  });
});

test('a signal with nonsense in it is still an outcome', () => {
  const nonsense = (signal: object, parts: object) => Object.assign(signal, parts);
  expect(outcomeOf({ kind: 'threw', thrown: nonsense(new Retry(), { delayMs: 'soon' }) })).toMatchObject({
    delayMs: null,
  });
  expect(outcomeOf({ kind: 'threw', thrown: nonsense(new Snooze(1), { delayMs: -5 }) })).toMatchObject({
    delayMs: 0,
  });
  expect(
    outcomeOf({ kind: 'threw', thrown: nonsense(new Snooze(1), { delayMs: Number.POSITIVE_INFINITY }) }),
  ).toMatchObject({
    delayMs: 3_155_760_000_000,
  });
  const reason = `${'\0'.repeat(10)}${'x'.repeat(1_000_000)}`;
  const dead = outcomeOf({ kind: 'threw', thrown: new Dead(reason) });
  expect(dead).toMatchObject({
    kind: 'dead',
    reason: expect.stringMatching(/^\ufffd{10}x{400,}… \(1000010 characters\)$/),
  });
});

test('a delay that is no duration fails where the signal is made', () => {
  expect(() => new Snooze('soon')).toThrow('Snooze delay "soon": expected a duration');
  expect(() => new Retry({ delay: -1 })).toThrow('Retry delay');
});

describe('what the worker reports, not the handler:', () => {
  test.each([
    ['a timeout', { kind: 'timedOut', timeoutMs: 30_000 } as const, 'TimeoutError', 'ran longer than 30s'],
    [
      'a signal that killed the child',
      { kind: 'childDied', exitCode: null, signal: 'SIGSEGV' } as const,
      'ChildDied',
      "the handler's process was ended by SIGSEGV",
    ],
    [
      'an exit of the child',
      { kind: 'childDied', exitCode: 3, signal: null } as const,
      'ChildDied',
      "the handler's process ended with exit code 3",
    ],
    [
      'a blocked worker',
      { kind: 'unresponsive', blockedMs: 90_000 } as const,
      'Unresponsive',
      'blocked its worker for 1m30s',
    ],
  ])('%s burns an attempt', (_what, ended, name, message) => {
    expect(outcomeOf(ended)).toEqual({
      kind: 'failed',
      reportedBy: 'worker',
      error: { name, message, stack: null, code: null, cause: null },
      delayMs: null,
      ...noResult,
    });
  });

  test('a payload that the schema refuses is dead at once', () => {
    expect(outcomeOf({ kind: 'invalidPayload', problem: '$.to: expected text' })).toMatchObject({
      kind: 'dead',
      reportedBy: 'worker',
      reason: 'invalid_payload',
      error: { message: '$.to: expected text' },
    });
  });

  test.each([true, false])(
    'an attempt that ended after a request to cancel is cancelled (killed: %s)',
    (killed) => {
      expect(outcomeOf({ kind: 'cancelled', reason: null, killed })).toEqual({
        kind: 'cancelled',
        reportedBy: 'worker',
        reason: null,
        killed,
      });
    },
  );
});

test('whatever a handler throws or returns, there is an outcome that can be stored', () => {
  fc.assert(
    fc.property(oddValueMaker(), fc.boolean(), (make, isThrown) => {
      const outcome = outcomeOf(
        isThrown ? { kind: 'threw', thrown: make() } : { kind: 'returned', value: make() },
      );
      if (outcome.kind === 'failed') expectStorableError(outcome.error);
      if (outcome.kind === 'completed')
        expectStorableResult({ json: outcome.result, note: outcome.resultNote });
      expect(outcome.kind).toBe(isThrown ? 'failed' : 'completed');
    }),
    { numRuns: 100 },
  );
});
