import { expect, test } from 'vitest';
import { didYouMean, nearest } from '../../src/lib/nearest.ts';
import { leastMs } from '../support/least-ms.ts';

const types = ['send-email', 'send-mail', 'charge', 'billing/charge', 'hash-file'];

test('slips of the fingers find their words, the nearest first', () => {
  expect(nearest('send-emial', types)).toEqual(['send-email', 'send-mail']);
  expect(nearest('SEND-EMAIL', types)[0]).toBe('send-email');
  expect(nearest('hash', types)).toEqual(['hash-file']);
});

test.each([
  ['hihg', 'high'],
  ['daed', 'dead'],
  ['ta', 'at'],
  ['kye', 'key'],
  ['mial-sned', 'mail-send'],
])('swapped neighbours count as one slip: %s is near %s', (typed, meant) => {
  expect(nearest(typed, [meant])).toEqual([meant]);
  expect(nearest(meant, [typed])).toEqual([typed]);
});

test('what is like nothing finds nothing', () => {
  expect(nearest('quux', types)).toEqual([]);
  expect(nearest('', types)).toEqual([]);
  expect(nearest('anything', [])).toEqual([]);
});

test('no more are given than asked for, and none twice', () => {
  expect(nearest('a1', ['a2', 'a3', 'a4', 'a5', 'a2'])).toEqual(['a2', 'a3', 'a4']);
  expect(nearest('a1', ['a2', 'a2', 'a3'], 1)).toEqual(['a2']);
});

test('a word of a million letters takes no time', () => {
  const [asked, known] = ['x'.repeat(1_000_000), 'y'.repeat(1_000_000)];
  expect(leastMs(200, () => nearest(asked, [known]))).toBeLessThan(200);
});

test('a message gets the question, or nothing', () => {
  expect(didYouMean('chrage', ['charge'])).toBe(' (did you mean "charge"?)');
  expect(didYouMean('quux', types)).toBe('');
});
