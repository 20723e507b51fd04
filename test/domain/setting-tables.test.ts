import { expect, expectTypeOf, test } from 'vitest';
import type { QueueInput, TaskTypeInput } from '../../src/config/task-settings.ts';
import {
  type GROUP_SETTINGS,
  QUEUE_SETTINGS,
  storedSettings,
  type TYPE_SETTINGS,
} from '../../src/domain/setting-tables.ts';
import type { GroupChanges } from '../../src/index.ts';

test('what an application may set of a queue, a type or a group is what the tables list', () => {
  expectTypeOf<keyof QueueInput>().toEqualTypeOf<keyof typeof QUEUE_SETTINGS>();
  expectTypeOf<keyof TaskTypeInput>().toEqualTypeOf<keyof typeof TYPE_SETTINGS>();
  expectTypeOf<keyof GroupChanges>().toEqualTypeOf<keyof typeof GROUP_SETTINGS>();
});

test('settings become columns, and what is not given stays away', () => {
  const settings = { timeout: '90s', maxRunning: 3, deadRetention: '168h', burst: undefined, rate: null };
  expect(storedSettings(QUEUE_SETTINGS, settings)).toStrictEqual({
    timeout_ms: 90_000,
    max_running: 3,
    dead_retention: '7d',
  });
});

test.each([
  [{ maxRunning: 0 }, 'maxRunning 0: expected a whole number from 1'],
  [{ groupLimit: 0 }, 'groupLimit 0: expected a whole number from 1'],
  [{ maxAttempts: '5' }, 'maxAttempts "5": expected a whole number from 1, or unlimited'],
  [{ deadRetention: 'none' }, 'deadRetention "none": expected ever, or whole days such as 90d'],
  [{ errorsRetention: '1h' }, 'errorsRetention "1h": expected none, ever, or whole days such as 7d'],
  [{ expires: 0 }, 'expires 0: expected more than 0'],
])('%j is refused by its own name', (settings, message) => {
  expect(() => storedSettings(QUEUE_SETTINGS, settings)).toThrow(message);
});
