import { expect, test } from 'vitest';
import { parseRetention } from '../../src/domain/retention.ts';

test.each([
  ['none', 'none'],
  ['ever', 'ever'],
  ['7d', '7d'],
  ['168h', '7d'],
  ['P2W', '14d'],
  ['1d', '1d'],
])('%s is kept as %s', (text, stored) => {
  expect(parseRetention(text)).toBe(stored);
});

test.each(['', 'forever', '36h', '0d', '7', '-1d', 'None', null, 7])(
  '%j is refused with what was expected',
  (text) => {
    expect(() => parseRetention(text)).toThrow('expected none, ever, or whole days such as 7d');
  },
);
