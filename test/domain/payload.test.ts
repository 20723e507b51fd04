import { describe, expect, test } from 'vitest';
import { payloadProblem } from '../../src/domain/payload.ts';

const problemOf = (text: string) => payloadProblem(text, JSON.parse(text));

describe('a payload is measured with its numbers as jsonb writes them', () => {
  test.each([
    ['1e308', 309],
    ['-1e308', 310],
    ['1.5E+308', 309],
    ['1e-300', 302],
    ['-2.5e-300', 304],
    ['0e-3000', 3002],
    ['-0e-3000', 3002],
    ['12.50e1', 5],
    ['1.50e3', 4],
    ['0.00120e2', 5],
    ['1.000000', 8],
  ])('%s has %i characters', (number, length) => {
    // In `[1e308, "…"]` there are six characters beside the number and the text.
    const most = 1024 * 1024 - 6 - length;
    expect(problemOf(`[${number}, "${'x'.repeat(most)}"]`)).toBeNull();
    expect(problemOf(`[${number}, "${'x'.repeat(most + 1)}"]`)).toMatch(/^larger than 1 MB/);
  });

  test('a number alone, and what looks like one in a string', () => {
    expect(problemOf('1e308')).toBeNull();
    expect(problemOf('{" 1e308 ": " 1e308, 1e-16384 "}')).toBeNull();
  });

  test('more decimal places than the database takes', () => {
    expect(problemOf('{"n": 1e-300}')).toBeNull();
    expect(problemOf('[0e-16383]')).toBeNull();
    expect(problemOf(`0.${'1'.repeat(16_383)}`)).toBeNull();
    for (const text of ['[0e-16384]', `0.${'1'.repeat(16_384)}`, '{"n":1e-16384,"n":1}'])
      expect(problemOf(text)).toBe('has a number with more than 16383 decimal places');
  });

  test('of a name given twice only the last value counts', () => {
    const long = `[${Array(3000).fill('1e308').join()}]`;
    expect(problemOf(`{"a":${long},"a":${long}}`)).toBeNull();
    expect(problemOf(`{"a":${long},"b":${long}}`)).toMatch(/^larger than 1 MB/);
  });
});
