import { expect, test } from 'vitest';
import { defineChannel } from '../../../src/worker/handlers/channel.ts';

test('a channel without a call is refused where it is defined, so that a worker does not start with it', () => {
  expect(() => defineChannel({} as never)).toThrow(new TypeError('defineChannel: call: expected a function'));
});
