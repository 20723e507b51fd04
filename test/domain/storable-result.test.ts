import vm from 'node:vm';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { STORABLE_LIMITS } from '../../src/domain/storable.ts';
import { storableResult } from '../../src/domain/storable-result.ts';
import { expectStorableResult, nested, oddValueMaker } from './odd-values.ts';

const limits = STORABLE_LIMITS;

test('nothing returned is no result and nothing to note', () => {
  expect(storableResult(undefined)).toEqual({ json: null, note: null });
});

test('what JSON can say is stored as JSON.stringify writes it', () => {
  fc.assert(
    fc.property(fc.jsonValue({ stringUnit: 'grapheme' }), (value) => {
      const text = JSON.stringify(value);
      fc.pre(!text.includes('\\u0000'));
      expect(storableResult(value)).toEqual({ json: text, note: null });
    }),
    { numRuns: 500 },
  );
});

test.each([
  ['a Date', new Date(0)],
  ['an invalid Date', new Date(Number.NaN)],
  ['a Map and a Set', { map: new Map([[1, 2]]), set: new Set([1]) }],
  ['boxed values', [Object(1), Object('x'), Object(true)]],
  [
    'what JSON leaves out',
    { a: undefined, b: () => 1, c: Symbol('c'), d: [undefined, () => 1, Symbol('d')] },
  ],
  ['numbers JSON lacks', [Number.NaN, Number.POSITIVE_INFINITY, -0]],
  ['toJSON', { toJSON: () => ({ toJSON: 1, a: 1 }) }],
  ['toJSON that is given its name', { here: { toJSON: (name: string) => name } }],
  ['a Buffer', Buffer.from('abc')],
  ['a small typed array', new Uint16Array([1, 2])],
  ['an array with holes', new Array(3)],
  ['an own __proto__', JSON.parse('{"__proto__":{"a":1},"constructor":2}')],
  [
    'an instance',
    new (class Point {
      x = 1;
      #y = 2;
      get y() {
        return this.#y;
      }
    })(),
  ],
  ['a value of another realm', vm.runInNewContext('({ a: [new Date(0), new Error("x"), new Number(3)] })')],
  ['the same object twice', ((same) => [same, same])({ a: 1 })],
])('%s is written as by JSON.stringify', (_name, value) => {
  expect(storableResult(value)).toEqual({ json: JSON.stringify(value), note: null });
});

test('a BigInt becomes a decimal string', () => {
  expect(storableResult({ big: 2n ** 64n, boxed: Object(-5n) }).json).toBe(
    '{"big":"18446744073709551616","boxed":"-5"}',
  );
});

test('NUL characters and lone surrogates become U+FFFD, in names too', () => {
  expect(storableResult({ 'a\0': '\ud83d!\0' }).json).toBe('{"a\ufffd":"\ufffd!\ufffd"}');
  expect(storableResult({ face: '😀' }).json).toBe('{"face":"😀"}');
});

describe('a result that cannot be stored is null with a note', () => {
  const circle: Record<string, unknown> = { name: 'circle' };
  circle.self = { again: circle };
  const revoked = Proxy.revocable({}, {});
  revoked.revoke();
  const bottomless = { toJSON: () => ({ next: bottomless }) };

  test.each([
    ['circular', circle, 'it is circular'],
    ['deep', nested(65), 'nested deeper than 64 levels'],
    ['very deep', nested(100_000), 'nested deeper than 64 levels'],
    ['without end', bottomless, 'nested deeper than 64 levels'],
    ['a function', () => 1, 'it has no JSON form (function)'],
    ['a symbol', Symbol('x'), 'it has no JSON form (symbol)'],
    ['a revoked proxy', revoked.proxy, 'reading it threw'],
    [
      'a throwing getter',
      Object.defineProperty({}, 'a', {
        enumerable: true,
        get: () => {
          throw new Error('not now');
        },
      }),
      'reading it threw not now',
    ],
    [
      'a toJSON that throws null',
      {
        toJSON: () => {
          throw null;
        },
      },
      'reading it threw null',
    ],
    ['an endless BigInt', 1n << 1_000_000n, 'a BigInt of more than 65536 bits'],
  ])('%s', (_name, value, reason) => {
    const { json, note } = storableResult(value);
    expect(json).toBeNull();
    expect(note).toMatchObject({ bytes: null, reason: expect.stringContaining(reason) });
  });

  test('64 levels are stored', () => {
    expect(storableResult(nested(64)).json).toBe('['.repeat(64) + ']'.repeat(64));
  });

  test('a byte over the limit is too large, and the note says how large and how it began', () => {
    const fits = 'x'.repeat(limits.resultBytes - 2);
    expect(storableResult(fits).json).toHaveLength(limits.resultBytes);
    const { json, note } = storableResult(`${fits}x`);
    expect(json).toBeNull();
    expect(note).toMatchObject({ bytes: limits.resultBytes + 1, reason: 'larger than 262144 bytes' });
    expect(note!.head).toMatch(/^"x{100}/);
    expect(note!.head.length).toBeLessThanOrEqual(500);
  });

  test('the size counts bytes, not characters', () => {
    expect(storableResult('é'.repeat(limits.resultBytes / 2)).note).toMatchObject({
      bytes: limits.resultBytes + 2,
    });
  });

  test('the size of a long list is that of its JSON text', () => {
    const list = Array.from({ length: 100_000 }, (_, index) => ({ index }));
    expect(storableResult(list).note).toMatchObject({ bytes: JSON.stringify(list).length });
  });

  test('a head that cuts a character in two is well-formed', () => {
    for (const shift of ['', 'x']) {
      expect(storableResult(shift + '😀'.repeat(limits.resultBytes)).note!.head.isWellFormed()).toBe(true);
    }
  });
});

test('whatever a handler returns gives a storable result', () => {
  fc.assert(
    fc.property(oddValueMaker(), (make) => expectStorableResult(storableResult(make()))),
    { numRuns: 300 },
  );
});
