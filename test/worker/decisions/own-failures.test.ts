import { expect, test } from 'vitest';
import { OwnFailures } from '../../../src/worker/execute/own-failures.ts';

const LIMIT = { failures: 3, within_ms: 1000 };

test('a type has failed too often at its last failure that its breaker allows, and at each after that', () => {
  const own = new OwnFailures();
  expect([0, 10, 20, 30].map((now) => own.failed('fragile', LIMIT, now))).toEqual([false, false, true, true]);
});

test('failures count by type, and for as long as the breaker counts them', () => {
  const own = new OwnFailures();
  own.failed('fragile', LIMIT, 0);
  own.failed('fragile', LIMIT, 10);
  expect(own.failed('other', LIMIT, 20)).toBe(false);
  expect(own.failed('fragile', LIMIT, 1001)).toBe(false);
  expect(own.failed('fragile', LIMIT, 1009)).toBe(true);
});

test('a breaker that has closed counts anew', () => {
  const own = new OwnFailures();
  for (const now of [0, 1, 2]) own.failed('fragile', LIMIT, now);
  own.forget('fragile');
  expect(own.failed('fragile', LIMIT, 3)).toBe(false);
});
