import fc from 'fast-check';
import { expect, test } from 'vitest';
import { jsonbProblems } from '../../src/lib/jsonb-problems.ts';
import { leastMs } from '../support/least-ms.ts';

const nested = (levels: number): unknown => JSON.parse('['.repeat(levels) + ']'.repeat(levels));

test('whatever JSON can say well-formed is no problem', () => {
  fc.assert(
    fc.property(fc.jsonValue({ stringUnit: 'grapheme' }), (value) => {
      fc.pre(!JSON.stringify(value).includes('\\u0000'));
      expect(jsonbProblems(value)).toEqual([]);
    }),
  );
});

test.each([
  ['{"user":{"name":"a\\u0000b"}}', '$.user.name', 'has a NUL character (\\u0000)'],
  [
    '{"items":[1,{"first name":"\\ud83d"}]}',
    '$.items[1]["first name"]',
    'has a lone surrogate (half of a character)',
  ],
  ['{"a":{"x\\u0000":1}}', '$.a["x\\u0000"]', 'its name has a NUL character (\\u0000)'],
  ['[[1e400]]', '$[0][0]', 'is a number out of range'],
  ['-1e400', '$', 'is a number out of range'],
  ['"\\udc00"', '$', 'has a lone surrogate (half of a character)'],
  ['{"":{"b":"\\u0000"}}', '$[""].b', 'has a NUL character (\\u0000)'],
  ['{"__proto__":{"x":"\\u0000"}}', '$.__proto__.x', 'has a NUL character (\\u0000)'],
])('%s is refused at %s', (text, path, what) => {
  expect(jsonbProblems(JSON.parse(text))).toEqual([{ path, what }]);
});

test('64 levels of nesting are taken, 65 are not', () => {
  expect(jsonbProblems(nested(64))).toEqual([]);
  expect(jsonbProblems(nested(65))).toMatchObject([{ what: 'nested deeper than 64 levels' }]);
});

test('100,000 levels are refused within 50 ms', () => {
  const document: unknown = JSON.parse(`${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`);
  expect(leastMs(50, () => jsonbProblems(document))).toBeLessThan(50);
  const problems = jsonbProblems(document);
  expect(problems).toHaveLength(1);
  expect(problems[0]!.path.length).toBeLessThan(250);
});

test('of a thousand problems the first ten are listed', () => {
  const problems = jsonbProblems(Array.from({ length: 1000 }, () => '\0'));
  expect(problems.map(({ path }) => path)).toEqual(Array.from({ length: 10 }, (_, index) => `$[${index}]`));
});
