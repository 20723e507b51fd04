import { expect, test } from 'vitest';
import { OwnFailures } from '../../../src/worker/execute/own-failures.ts';

const LIMIT = { failures: 3, within_ms: 1000 };

function stopsAt(own: OwnFailures, times: readonly number[]): number[] {
  return times.filter((now) => own.failed('fragile', LIMIT, now));
}

test('a type has failed too often at its last failure that its breaker allows, and then counts anew', () => {
  expect(stopsAt(new OwnFailures(), [0, 10, 20, 30, 2000, 2010, 2020])).toEqual([20, 2020]);
});

test('a type whose breaker does not open is stopped at most once a second', () => {
  const times = Array.from({ length: 300 }, (_, n) => n * 10);
  expect(stopsAt(new OwnFailures(), times)).toEqual([20, 1020, 2020]);
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
  stopsAt(own, [0, 1]);
  own.forget('fragile');
  expect(own.failed('fragile', LIMIT, 2)).toBe(false);
});
