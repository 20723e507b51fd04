import { expect, test } from 'vitest';
import { parsePriority } from '../../src/domain/priority.ts';

test('a priority is 0 to 9, or a name for the first four', () => {
  expect(['0', 9, '2', 0].map((input) => parsePriority(input))).toEqual([0, 9, 2, 0]);
  expect(['critical', 'high', 'medium', 'low'].map((input) => parsePriority(input))).toEqual([0, 1, 2, 3]);
});

test.each(['10', 10, -1, '-1', 1.5, '', ' 1', 'urgent', 'toString', null, undefined, [1]])(
  '%j is refused',
  (input) => {
    expect(() => parsePriority(input)).toThrow(/expected 0 to 9/);
  },
);

test('the refusal of priority 10 says that 0 is the most urgent', () => {
  expect(() => parsePriority('10')).toThrow(
    'priority "10": expected 0 to 9 (0 is the most urgent, 9 the least) or critical, high, medium, low',
  );
});
