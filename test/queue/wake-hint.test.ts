import fc from 'fast-check';
import { expect, test } from 'vitest';
import { wakeHintOf } from '../../src/queue/protocol/wake-hint.ts';

test('a hint names a queue and a time', () => {
  expect(wakeHintOf('{"queue": "default", "from_us": 1700000000000000}')).toEqual({
    queue: 'default',
    fromUs: 1_700_000_000_000_000,
  });
  expect(wakeHintOf('{"from_us":0,"queue":" ä/b\\n","more":[1]}')).toEqual({ queue: ' ä/b\n', fromUs: 0 });
});

test.each([
  ['nothing', ''],
  ['no JSON', 'garbage'],
  ['half of it', '{"queue": "default", "from_us": 1'],
  ['a number', '0.5'],
  ['null', 'null'],
  ['a list', '[{"queue": "default", "from_us": 1}]'],
  ['nothing of ours', '{}'],
  ['no time', '{"queue": "default"}'],
  ['no queue', '{"from_us": 1}'],
  ['text for a time', '{"queue": "default", "from_us": "1"}'],
  ['part of a microsecond', '{"queue": "default", "from_us": 0.5}'],
  ['more than a bigint', '{"queue": "default", "from_us": 1e30}'],
  ['more than any number', '{"queue": "default", "from_us": 1e999}'],
  ['a number for a queue', '{"queue": 7, "from_us": 1}'],
  ['an object for a queue', '{"queue": {"toString": "x"}, "from_us": 1}'],
  ['a queue without a name', '{"queue": "", "from_us": 1}'],
  ['a queue that is too long', JSON.stringify({ queue: 'ä'.repeat(101), from_us: 1 })],
  ['a zero byte', '{"queue": "a\\u0000b", "from_us": 1}'],
  ['half of a character', '{"queue": "\\ud83d", "from_us": 1}'],
  ['something deep', '['.repeat(7999)],
])('%s is none', (_, payload) => {
  expect(wakeHintOf(payload)).toBeUndefined();
});

test('whatever it holds, what comes of it is none or a queue and a whole number', () => {
  const any = fc.record(
    { queue: fc.anything({ withNullPrototype: false }), from_us: fc.anything() },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(
      fc.oneof(
        fc.json(),
        any.map((value) => JSON.stringify(value) ?? ''),
      ),
      (payload) => {
        const hint = wakeHintOf(payload);
        return hint === undefined || (hint.queue !== '' && Number.isSafeInteger(hint.fromUs));
      },
    ),
  );
});
