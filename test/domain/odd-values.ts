import vm from 'node:vm';
import fc from 'fast-check';
import { expect } from 'vitest';
import { STORABLE_LIMITS } from '../../src/domain/storable.ts';
import type { StoredError } from '../../src/domain/storable-error.ts';
import type { StorableResult } from '../../src/domain/storable-result.ts';
import { jsonbProblems } from '../../src/lib/jsonb-problems.ts';

/** `levels` arrays in one another. */
export function nested(levels: number): unknown {
  return JSON.parse('['.repeat(levels) + ']'.repeat(levels));
}

type Maker = () => unknown;

/**
 * Makes what a handler may return or throw if it tries hard (faults.md, R13). A maker, because fast-check itself
 * does not survive to hold such values.
 */
export function oddValueMaker(): fc.Arbitrary<Maker> {
  return fc.letrec<{ leaf: Maker; error: Maker; container: Maker; value: Maker }>((tie) => ({
    leaf: fc.oneof(
      plainLeaf().map((value) => () => value),
      fc.constantFrom(...hostileMakers),
    ),
    error: fc.tuple(fc.constantFrom(...errorMakers), nastyText(), tie('value')).map(
      ([makeError, message, make]) =>
        () =>
          makeError(message, make()),
    ),
    container: fc.oneof(
      fc.array(tie('value'), { maxLength: 4 }).map((makers) => () => makers.map((make) => make())),
      fc
        .array(fc.tuple(nastyText(), tie('value')), { maxLength: 4 })
        .map((entries) => () => Object.fromEntries(entries.map(([name, make]) => [name, make()]))),
      tie('value').map((make) => () => new Map([[make(), make()]])),
      tie('value').map((make) => () => ({ toJSON: make })),
      tie('value').map((make) => () => Object.defineProperty({}, 'got', { enumerable: true, get: make })),
      tie('value').map((make) => () => new Proxy({ value: make() }, {})),
    ),
    value: fc.oneof({ maxDepth: 5 }, tie('leaf'), tie('error'), tie('container')),
  })).value;
}

/** A result is JSON text that jsonb takes and within bounds, or a note that is. */
export function expectStorableResult({ json, note }: StorableResult): void {
  if (json !== null) {
    expect(Buffer.byteLength(json)).toBeLessThanOrEqual(STORABLE_LIMITS.resultBytes);
    expectJsonb(json);
  }
  expectJsonb(JSON.stringify(note));
  expect(JSON.stringify(note).length).toBeLessThan(8192);
}

/** An error is of the stored shape, and its JSON text one that jsonb takes and within bounds. */
export function expectStorableError(error: StoredError): void {
  const json = JSON.stringify(error);
  expect(Buffer.byteLength(json)).toBeLessThanOrEqual(STORABLE_LIMITS.errorBytes);
  expectJsonb(json);
  expect(Object.keys(error)).toEqual(['name', 'message', 'stack', 'code', 'cause']);
  expect([error.name, error.message].every((text) => typeof text === 'string')).toBe(true);
  if (error.cause !== null) expectStorableError(error.cause);
}

function expectJsonb(json: string): void {
  expect(json).not.toContain('\\u0000');
  expect(json.isWellFormed()).toBe(true);
  expect(jsonbProblems(JSON.parse(json))).toEqual([]);
}

function nastyText(): fc.Arbitrary<string> {
  const nasty = fc.constantFrom(
    '\0',
    '\ud800',
    '\udfff',
    '😀',
    '\u2028',
    '"',
    '\\',
    '__proto__',
    'message',
    'toJSON',
    '\u0007',
  );
  return fc.oneof(
    fc.string(),
    fc.array(nasty, { maxLength: 6 }).map((parts) => parts.join('')),
    fc.constantFrom('x', '\0', '\ud83d', '\u0001', '€').map((unit) => unit.repeat(50_000)),
  );
}

function plainLeaf(): fc.Arbitrary<unknown> {
  return fc.oneof(
    nastyText(),
    fc.double(),
    fc.bigInt(),
    fc.boolean(),
    fc.constantFrom(null, undefined, Symbol('odd'), Symbol.iterator, 2n ** 70_000n),
    fc.date(),
    fc.uint8Array(),
    fc.func(fc.integer()),
  );
}

const hostileMakers: readonly Maker[] = [
  circle,
  revokedProxy,
  () => nested(200),
  () => nested(5000),
  () =>
    new Proxy({}, { get: throwing, ownKeys: throwing, getOwnPropertyDescriptor: throwing, has: throwing }),
  () => new Proxy(() => 1, { get: throwing, apply: throwing }),
  echo,
  () => ({ toJSON: throwing }),
  () => ({ toString: throwing, valueOf: throwing, [Symbol.toPrimitive]: throwing }),
  () => Object.create(null),
  () => Object.defineProperty({}, 'a', { enumerable: true, get: throwing }),
  () => new WeakMap(),
  () => Promise.resolve(1),
  () => new Array(2 ** 31),
  () => vm.runInNewContext('Object.assign(new TypeError("far away"), { code: 7 })'),
  () => vm.runInNewContext('new Proxy([], { get() { throw new Error("far away"); } })'),
];

const errorMakers: readonly ((message: string, part: unknown) => unknown)[] = [
  (message, cause) => new Error(message, { cause }),
  (message, part) => new AggregateError([part, part], message),
  (message, part) => Object.assign(new RangeError(message), { code: part }),
  (message, part) => Object.defineProperty(new Error(message), 'stack', { value: part }),
  (message, part) => Object.defineProperty(new Error(message), 'name', { value: part }),
  (message, part) =>
    Object.defineProperty(new Error('x'), 'message', {
      value: part,
      configurable: true,
      enumerable: message === '',
    }),
  (message) => Object.defineProperty(new Error(message), 'message', { get: throwing }),
  (message) => Object.defineProperty(new Error(message), 'cause', { get: throwing }),
  (message) => {
    const error = new Error(message);
    error.cause = new Error(message, { cause: error });
    return error;
  },
  (message, cause) => new Proxy(new Error(message, { cause }), {}),
  (message) => chain(message, 50),
  (message) => new DOMException(message, 'DataError'),
];

function throwing(): never {
  throw new Error('hands off');
}

function circle(): unknown {
  const list: unknown[] = [1];
  list.push({ list });
  return list;
}

function revokedProxy(): unknown {
  const { proxy, revoke } = Proxy.revocable([], {});
  revoke();
  return proxy;
}

/** Gives itself for every property, so that it never ends. */
function echo(): unknown {
  const proxy: unknown = new Proxy(
    {},
    {
      get: () => proxy,
      ownKeys: () => ['a'],
      getOwnPropertyDescriptor: () => ({ enumerable: true, configurable: true, value: proxy }),
    },
  );
  return proxy;
}

function chain(message: string, length: number): Error {
  let error = new Error(message);
  for (let link = 1; link < length; link += 1) error = new Error(message, { cause: error });
  return error;
}
