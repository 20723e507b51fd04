import { expect, test } from 'vitest';
import { messageOf } from '../../src/lib/thrown.ts';

const unreadable = {
  get message(): string {
    throw new Error('not this either');
  },
  toString(): string {
    throw new Error('nor this');
  },
};

test.each([
  ['an error', new TypeError('no luck'), 'no luck'],
  ['a string', 'no luck', 'no luck'],
  ['what looks like an error', { message: 'no luck' }, 'no luck'],
  ['an object that cannot be read', unreadable, 'an object'],
  ['an object without a prototype', Object.create(null), 'an object'],
  ['a revoked proxy', revoked(), 'an object'],
  ['an error whose message is no text', Object.assign(new Error(), { message: 7 }), 'an object'],
  ['a symbol', Symbol('s'), 'Symbol(s)'],
  ['nothing', undefined, 'undefined'],
])('the message of %s', (_, thrown, message) => {
  expect(messageOf(thrown)).toBe(message);
});

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}
