import { describe, expect, test } from 'vitest';
import { parseBurst, parseRate } from '../../src/domain/queue-limits.ts';

describe('a rate', () => {
  test.each([
    ['100/1m', '100/1m'],
    [' 5 / 60s ', '5/1m'],
    ['7/1.5s', '7/1500ms'],
    ['1/PT1H', '1/1h'],
    ['1000000/1ms', '1000000/1ms'],
    ['1/366d', '1/366d'],
  ])('%j is %s', (given, rate) => expect(parseRate(given)).toBe(rate));

  test.each(['', '5', '5/', '0/1m', '-1/1m', '1.5/1m', '5/0s', '5/x', '5/367d', '1000001/1s', 5, null])(
    '%j is refused in one line',
    (given) => {
      expect(() => parseRate(given, '--rate')).toThrow(
        /^--rate .*: expected n\/duration such as 100\/1m: n 1 to 1000000, duration 1ms to 366d$/,
      );
    },
  );
});

describe('a burst', () => {
  test('is a whole number', () => expect([parseBurst('20'), parseBurst(1)]).toEqual([20, 1]));
  test.each(['', '0', '-1', '1.5', '100001', 0, 1.5, null])('%j is refused', (given) => {
    expect(() => parseBurst(given, '--burst')).toThrow(
      /^--burst .*: expected a whole number from 1 to 100000$/,
    );
  });
});
