import vm from 'node:vm';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { STORABLE_LIMITS } from '../../src/domain/storable.ts';
import { storableError, withoutFrames } from '../../src/domain/storable-error.ts';
import { expectStorableError, oddValueMaker } from './odd-values.ts';

test('an error keeps its name, message, stack, code and cause', ({ onTestFinished }) => {
  // What a runner has on its stack may be longer than what is kept.
  const { stackTraceLimit } = Error;
  onTestFinished(() => {
    Error.stackTraceLimit = stackTraceLimit;
  });
  Error.stackTraceLimit = 5;
  const cause = Object.assign(new TypeError('below'), { code: 'ECONNRESET' });
  const error = new RangeError('above', { cause });
  expect(storableError(error)).toEqual({
    name: 'RangeError',
    message: 'above',
    stack: error.stack,
    code: null,
    cause: { name: 'TypeError', message: 'below', stack: cause.stack, code: 'ECONNRESET', cause: null },
  });
});

test.each([
  ['undefined', undefined, 'NonError', 'undefined'],
  ['null', null, 'NonError', 'null'],
  ['a text', 'oh no', 'NonError', 'oh no'],
  ['a symbol', Symbol('s'), 'NonError', 'Symbol(s)'],
  ['a BigInt', 5n, 'NonError', '5'],
  ['a vast BigInt', 1n << 1_000_000n, 'NonError', 'a very large BigInt'],
  ['a function', () => 1, 'NonError', 'a function'],
  ['an object', { status: 500 }, 'NonError', '{"status":500}'],
  ['an object with a message', { message: 'like an error', name: 'Like' }, 'Like', 'like an error'],
  ['a Map', new Map(), 'Map', '{}'],
  ['an error of another realm', vm.runInNewContext('new TypeError("far away")'), 'TypeError', 'far away'],
])('%s that was thrown is described', (_what, thrown, name, message) => {
  expect(storableError(thrown)).toMatchObject({ name, message });
});

test('an error whose properties change at each read is described', () => {
  const looks = ['one', 2, 'three', 4];
  const shifty = Object.defineProperty(new Error('x'), 'message', { get: () => looks.shift() ?? null });
  expectStorableError(storableError(shifty));
});

test('a numeric code is kept as text', () => {
  expect(storableError(Object.assign(new Error('x'), { code: 23505 })).code).toBe('23505');
});

test('the first of many errors stands as the cause', () => {
  const many = new AggregateError([new Error('first'), new Error('second')], 'all failed');
  expect(storableError(many)).toMatchObject({
    message: 'all failed',
    cause: { message: 'first', cause: null },
  });
});

test('a circle of causes ends, and of a long chain five are kept', () => {
  const one = new Error('one');
  one.cause = new Error('two', { cause: one });
  expect(storableError(one)).toMatchObject({ message: 'one', cause: { message: 'two', cause: null } });
  const chain = Array.from({ length: 50 }).reduce(
    (cause: unknown) => new Error('link', { cause }),
    undefined,
  );
  let length = 0;
  for (let link: unknown = storableError(chain); link !== null; link = (link as { cause: unknown }).cause)
    length += 1;
  expect(length).toBe(6);
});

test('NUL characters and lone surrogates become U+FFFD', () => {
  expect(storableError(new Error('a\0b\ud83d'))).toMatchObject({ message: 'a\ufffdb\ufffd' });
});

test('a long message leaves room for the frames of the stack', () => {
  const { message, stack } = storableError(new Error('m'.repeat(1_000_000)));
  expect(message).toMatch(/^m+… \(1000000 characters\)$/);
  expect(stack).toContain('storable-error.test.ts');
});

test('what must be escaped counts as it is stored', () => {
  const text = '\u0001'.repeat(20_000);
  const error = Object.assign(new Error(text), { stack: text });
  error.cause = Object.assign(new Error(text), { stack: text });
  const json = JSON.stringify(storableError(error));
  expect(Buffer.byteLength(json)).toBeLessThanOrEqual(STORABLE_LIMITS.errorBytes);
  expect(storableError(error).message).toContain('\u0001');
});

test('whatever a handler throws gives a storable error', () => {
  fc.assert(
    fc.property(oddValueMaker(), (make) => expectStorableError(storableError(make()))),
    { numRuns: 300 },
  );
});

test('frames of the code around a handler are left out, wherever they are', () => {
  const [message, ours, own, builtIn] = [
    'Error: two\nlines',
    '    at check (/lib/check.js:1:1)',
    '    at Object.run (/srv/handler.js:2:2)',
    '    at async open (node:fs:3:3)',
  ];
  const shownOf = (...frames: string[]) => {
    const cause = {
      name: 'Error',
      message: 'c',
      stack: [message, ...frames].join('\n'),
      code: null,
      cause: null,
    };
    const shown = withoutFrames({ ...cause, cause }, (line) => line.includes('/lib/'));
    expect(shown.cause!.stack).toBe(shown.stack);
    return shown.stack?.split('\n').slice(2);
  };
  expect(shownOf(own, ours, ours)).toEqual([own]);
  expect(shownOf(builtIn, own, ours, builtIn)).toEqual([builtIn, own]);
  expect(shownOf(ours, ours, own, ours)).toEqual([own]);
  expect(shownOf(own)).toEqual([own]);
  expect(shownOf(ours)).toEqual([ours]);
  expect(shownOf()).toEqual([]);
  const bare = { name: 'Error', message: 'no stack', stack: null, code: null, cause: null };
  expect(withoutFrames(bare, () => true)).toEqual(bare);
});
