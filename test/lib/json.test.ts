import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { JsonError, parseJson } from '../../src/lib/json.ts';
import { findJsonFault } from '../../src/lib/json-fault.ts';
import { leastMs } from '../support/least-ms.ts';

function errorOf(text: string): JsonError {
  try {
    parseJson(text);
  } catch (error) {
    expect(error).toBeInstanceOf(JsonError);
    return error as JsonError;
  }
  throw new Error(`${text} was taken for JSON`);
}

test('JSON text gives its value', () => {
  expect(parseJson(' {"a": [1, "x", null]} ')).toEqual({ a: [1, 'x', null] });
});

describe('text that is not JSON', () => {
  test.each([
    ['{"a": 1, "b": }', 1, 15, 'expected a value, found "}"'],
    ['{"a" 1}', 1, 6, 'expected ":", found "1"'],
    ["{'a': 1}", 1, 2, 'expected a name in double quotes or "}", found "\'"'],
    ['{"a":1,}', 1, 8, 'expected a name in double quotes, found "}"'],
    ['[1,]', 1, 4, 'expected a value, found "]"'],
    ['[1 2]', 1, 4, 'expected "," or "]", found "2"'],
    ['[1] 2', 1, 5, 'expected the end, found "2"'],
    ['{\n  "a": 1,\n  "b": undefined\n}', 3, 8, 'expected a value, found "u"'],
    ['{"a":"x\ty"}', 1, 8, 'a control character (U+0009) must be escaped in a string'],
    ['["a\\x"]', 1, 4, 'unknown escape \\x'],
    ['["\\u12"]', 1, 3, 'unknown escape \\u'],
    ['[01]', 1, 2, 'expected a value or "]", found "0"'],
    ['\ufeff{}', 1, 1, 'expected a value, found U+FEFF'],
    ['', 1, 1, 'expected a value, found the end'],
    ['{"a": [1', 1, 9, 'expected "," or "]", found the end'],
    ['"abc', 1, 5, 'the string has no closing quote'],
  ])('%j is refused at line %i, column %i', (text, line, column, what) => {
    const error = errorOf(text);
    expect(error).toMatchObject({ line, column, code: 'bad_json', exitCode: 2 });
    expect(error.message).toContain(`invalid JSON at line ${line}, column ${column}: ${what}`);
  });

  test('is quoted around the fault, on one line and in short', () => {
    const error = errorOf(`{"list": [${'1,'.repeat(500)}\n oops ${',1'.repeat(500)}]}`);
    expect(error.excerpt).toContain('oops');
    expect(error.excerpt).not.toContain('\n');
    expect(error.message.length).toBeLessThan(200);
  });

  test('that is deep or long is refused without delay or overflow', () => {
    const took = leastMs(5000, () => {
      expect(errorOf('['.repeat(1_000_000)).position).toBe(1_000_000);
      expect(errorOf(`["${'x'.repeat(5_000_000)}"`).message).toContain('found the end');
    });
    expect(took).toBeLessThan(5000);
  });

  test('is found to be so exactly where JSON.parse finds it', () => {
    const pieces = [
      '{',
      '}',
      '[',
      ']',
      ',',
      ':',
      '"',
      '\\',
      'u',
      '0',
      '1',
      '-',
      '.',
      'e',
      'true',
      'null',
      ' ',
      '\n',
      '"a"',
      '\u0001',
      '\\n',
      'é',
    ];
    const text = fc.array(fc.constantFrom(...pieces), { maxLength: 12 }).map((parts) => parts.join(''));
    const edited = fc
      .tuple(fc.json(), fc.nat(), fc.constantFrom(...pieces))
      .map(
        ([json, at, piece]) =>
          `${json.slice(0, at % (json.length + 1))}${piece}${json.slice(at % (json.length + 1))}`,
      );
    fc.assert(
      fc.property(fc.oneof(text, edited, fc.json()), (candidate) => {
        expect(findJsonFault(candidate) === null).toBe(isJson(candidate));
      }),
      { numRuns: 5000 },
    );
  });
});

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
