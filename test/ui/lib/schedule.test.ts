import { expect, test } from 'vitest';
import { newScheduleOf } from '../../../src/domain/schedule/definition.ts';
import { optionsOf } from '../../../src/ui/lib/schedule.ts';

test('a schedule that is edited keeps the options of its tasks', () => {
  const given = {
    ...{ queue: 'mail', priority: 'high', delay: '5s', timeout: '2m', expires: '1d', group: 'ann' },
    ...{ key: 'k', keyFor: '3d', onHeld: 'preserve', tags: { some_tag: 'x' }, retention: '7d' },
    ...{ maxAttempts: 'unlimited', onComplete: 'next', onDead: { type: 'alarm', payload: { a_b: 1 } } },
  };
  for (const backoff of [
    { kind: 'fixed', base: '1m' },
    { kind: 'exponential', base: 500, factor: 3 },
  ]) {
    const stored = (options: object) =>
      newScheduleOf('nightly', { expression: '@daily', type: 'work', ...options }).options;
    const {
      tz: _,
      missed: __,
      overlap: ___,
      jitter_ms: ____,
      ...taskOptions
    } = stored({ ...given, backoff });
    expect(stored(optionsOf({ taskOptions: taskOptions as Record<string, unknown> }))).toEqual(
      stored({ ...given, backoff }),
    );
  }
});

test('attempts without a limit are shown by their name', () => {
  expect(optionsOf({ taskOptions: { max_attempts: 2_147_483_647 } })).toEqual({ maxAttempts: 'unlimited' });
});
