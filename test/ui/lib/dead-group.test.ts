import { expect, test } from 'vitest';
import { causeOf, trendText } from '../../../src/ui/lib/dead-group.ts';

test.each([
  ['TypeError', 'no card', 'attempts_spent', 'TypeError: no card'],
  [null, 'no card', 'attempts_spent', 'no card'],
  ['TypeError', null, 'attempts_spent', 'TypeError'],
  [null, null, 'lease_lost', 'lease_lost'],
  ['Error', 'first\nsecond', 'attempts_spent', 'Error: first'],
  [null, 'x'.repeat(200), '', `${'x'.repeat(140)}…`],
])('%s, %s, %s: it died of %s', (errorName, message, reason, cause) => {
  expect(causeOf({ errorName, message, reason })).toBe(cause);
});

test.each([
  [12, 3, '12, up from 3'],
  [0, 5, '0, down from 5'],
  [1200, 1200, '1,200, as before'],
  [0, 0, 'none'],
])('%i after %i', (lastHour, hourBefore, text) => {
  expect(trendText({ lastHour, hourBefore })).toBe(text);
});
