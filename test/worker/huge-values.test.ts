import { expect, test } from 'vitest';
import { STORABLE_LIMITS } from '../../src/domain/storable.ts';
import { storableError } from '../../src/domain/storable-error.ts';
import { storableResult } from '../../src/domain/storable-result.ts';
import { expectStorableError, nested } from '../domain/odd-values.ts';

/*
 * These need no server, but seconds. What walked through a value to its end would run out of memory, or of the time of
 * the test: some of them stand for terabytes.
 */

test('results of 300 MB and more are refused, whatever they are made of', () => {
  const giant = 'x'.repeat(300_000_000);
  const long = 'y'.repeat(200_000);
  const values = [
    giant,
    { giant },
    new Array(2 ** 32 - 1),
    Array.from({ length: 1_000_000 }, () => long),
    new Uint8Array(300_000_000),
    Buffer.alloc(300_000_000),
    { [giant]: 1 },
    new Proxy([], { get: (target, name) => (name === 'length' ? 2 ** 50 : Reflect.get(target, name)) }),
  ];
  for (const value of values) {
    const { json, note } = storableResult(value);
    expect(json).toBeNull();
    expect(note!.bytes).toBeGreaterThan(STORABLE_LIMITS.resultBytes);
    expect(note!.head.length).toBeLessThanOrEqual(500);
  }
});

test('errors of 300 MB and of 100,000 levels are stored small', () => {
  const giant = '\u0001'.repeat(300_000_000);
  const thrown = [
    giant,
    new Error(giant),
    Object.assign(new Error('x'), { name: giant, code: giant, stack: giant }),
    { body: giant },
    nested(100_000),
    new Error('x', { cause: nested(100_000) }),
  ];
  for (const value of thrown) expectStorableError(storableError(value));
});
