import { describe, expect, test } from 'vitest';
import { progressOf } from '../../src/domain/progress.ts';
import { shortBytes } from '../../src/domain/storable.ts';

test('a number is kept as it is, with its text or without', () => {
  expect(progressOf(0.4)).toEqual({ value: 0.4, text: null });
  expect(progressOf(1234, 'rows')).toEqual({ value: 1234, text: 'rows' });
  expect(progressOf(-1, undefined)).toEqual({ value: -1, text: null });
});

test.each([
  ['0.4', `progress '0.4': expected a number, such as 0.4`],
  [Number.NaN, 'progress NaN: expected a number, such as 0.4'],
  [Infinity, 'progress Infinity: expected a number, such as 0.4'],
  [undefined, 'progress undefined: expected a number, such as 0.4'],
  [5n, 'progress 5n: expected a number, such as 0.4'],
])('%s is refused', (value, message) => {
  expect(() => progressOf(value)).toThrow(new TypeError(message));
});

test('a text that is none is refused', () => {
  expect(() => progressOf(1, 5)).toThrow(new TypeError('text of progress 5: expected a string'));
});

test('a text over 1 KB is cut', () => {
  expect(Buffer.byteLength(progressOf(1, 'ä'.repeat(100_000)).text!)).toBeLessThanOrEqual(1024);
});

describe('text of at most so many bytes', () => {
  test.each([
    ['short', 'short'],
    ['0123456789', '0123456789'],
    ['01234567890', '0123456…'],
    ['ääääää', 'äää…'],
    ['😀😀😀', '😀…'],
    ['a\0b', 'a\uFFFDb'],
    ['\uD800', '\uFFFD'],
  ])('%j becomes %j', (text, cut) => {
    expect(shortBytes(text, 10)).toBe(cut);
    expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(10);
  });
});
