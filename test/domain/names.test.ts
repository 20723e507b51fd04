import { describe, expect, test } from 'vitest';
import { checkedName } from '../../src/domain/names.ts';

test.each(['send-email', 'billing/charge', '__proto__', 'Ärger', 'a b', '€'.repeat(66)])(
  '%s is a type',
  (name) => {
    expect(checkedName('type', name)).toBe(name);
  },
);

describe('a name is refused that', () => {
  test.each([
    ['is empty', ''],
    ['begins with a blank', ' a'],
    ['ends with a blank', 'a\u00a0'],
    ['has a NUL character', 'a\0b'],
    ['has a line feed', 'a\nb'],
    ['has half of a character', 'a\ud800'],
    ['is longer than 200 bytes', '€'.repeat(67)],
    ['is no text', 5],
    ['is missing', undefined],
  ])('%s', (_what, name) => {
    for (const kind of ['queue', 'type', 'group', 'tag'] as const) {
      expect(() => checkedName(kind, name)).toThrow(new RegExp(`^${kind} `));
    }
  });
});

test.each(['a//b', '/a', 'a/', '../a', 'a/../b', './a', '..', 'a\\b'])(
  '%s is no type, but may be a queue',
  (name) => {
    expect(() => checkedName('type', name)).toThrow('not allowed');
    expect(checkedName('queue', name)).toBe(name);
  },
);

test('a key may have 500 bytes', () => {
  expect(checkedName('key', 'k'.repeat(500))).toHaveLength(500);
  expect(() => checkedName('key', 'k'.repeat(501))).toThrow('expected at most 500 bytes');
});

test('a message stays short and on one line', () => {
  expect(() => checkedName('queue', `\n${'x'.repeat(10_000)}`)).toThrow(/^queue "\\nx{50,60}…": .{1,40}$/);
});
