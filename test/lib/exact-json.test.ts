import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ExactNumber, parseExact, stringifyExact } from '../../src/lib/exact-json.ts';

describe('a number that JavaScript would change', () => {
  test.each([
    '9007199254740993',
    '-12345678901234567890123',
    '0.1000000000000000055',
    `1${'0'.repeat(400)}`,
    '{"a": [1, 18446744073709551615, {"b": -0.30000000000000000001}], "c": "x"}',
  ])('is written as it was read: %s', (text) => {
    expect(stringifyExact(parseExact(text))).toBe(text.replaceAll(' ', ''));
  });

  test('counts as the nearest there is', () => {
    const number = parseExact('9007199254740993') as ExactNumber;
    expect(number).toBeInstanceOf(ExactNumber);
    expect(Number(number) - 9_007_199_254_740_000).toBe(992);
    expect(`${number}`).toBe('9007199254740993');
  });
});

test.each(['1', '-0.5', '9007199254740991', '33.000000000000000000', '123456789.25', '0.00000000000000000'])(
  'every other number is one: %s',
  (text) => {
    expect(parseExact(text)).toBe(Number(text));
  },
);

test('what looks like a number in a string or a key is none', () => {
  const text = String.raw`{"12345678901234567890":"\"12345678901234567890\\","n":"\\u0000123"}`;
  expect(stringifyExact(parseExact(text))).toBe(text);
});

test.each(['12345678901234567890-1', '01234567890123456789', '1234567890123456.', '1234567890.1234567.8'])(
  'what is no JSON stays none: %s',
  (text) => {
    expect(() => parseExact(text)).toThrow(SyntaxError);
  },
);

test('indented as JSON.stringify does it', () => {
  expect(stringifyExact(parseExact('{"n":[9007199254740993]}'), 2)).toBe(
    '{\n  "n": [\n    9007199254740993\n  ]\n}',
  );
});

test('all JSON comes back', () => {
  fc.assert(
    fc.property(fc.json(), (text) => {
      expect(JSON.parse(stringifyExact(parseExact(text)))).toEqual(JSON.parse(text));
    }),
  );
});
