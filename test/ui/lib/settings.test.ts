import { expect, test } from 'vitest';
import { normaliseBackoff } from '../../../src/domain/backoff.ts';
import { normaliseBreaker } from '../../../src/domain/breaker.ts';
import {
  DEFAULT_SETTINGS as DEFAULTS,
  GROUP_SETTINGS as GROUPS,
  QUEUE_SETTINGS as QUEUES,
  TYPE_SETTINGS as TYPES,
} from '../../../src/domain/setting-tables.ts';
import { parseJson, stringifyJson } from '../../../src/ui/lib/json.ts';
import {
  DEFAULT_SETTINGS,
  GROUP_SETTINGS,
  QUEUE_SETTINGS,
  settingOf,
  settingText,
  TYPE_SETTINGS,
} from '../../../src/ui/lib/settings.ts';

test.each([
  ['queues', QUEUE_SETTINGS, QUEUES],
  ['types', TYPE_SETTINGS, TYPES],
  ['groups', GROUP_SETTINGS, GROUPS],
  ['all tasks', DEFAULT_SETTINGS, DEFAULTS],
])('the settings of %s are those that the API takes', (_, shown, taken) => {
  expect(shown.map(({ name }) => name).toSorted()).toEqual(Object.keys(taken).toSorted());
});

const SETTINGS = { ...DEFAULTS, ...TYPES, ...QUEUES };

test.each<[name: keyof typeof SETTINGS, stored: unknown, text: string]>([
  ['maxAttempts', 3, '3'],
  ['maxAttempts', 2_147_483_647, 'unlimited'],
  ['timeout', 5_400_000, '1h30m'],
  ['timeout', 1, '1ms'],
  ['expires', 90_061_001, '1d1h1m1s1ms'],
  ['backoff', normaliseBackoff('exponential,5s'), 'exponential,5s,factor=2,max=1h,jitter=0.2'],
  ['backoff', normaliseBackoff('fixed,0s'), 'fixed,0s,max=1h,jitter=0.2'],
  ['breaker', normaliseBreaker('5/1m'), '5/1m'],
  [
    'breaker',
    normaliseBreaker({ failures: 5, within: '1m', probeAfter: 'none' }),
    '{"failures":5,"within":"1m","probeAfter":"none"}',
  ],
  ['mayEnqueue', ['a', 'b'], 'a,b'],
  ['mayEnqueue', [], 'none'],
  ['recordEvents', true, 'on'],
  ['recordLeases', false, 'off'],
  ['onDead', { type: 'report' }, 'report'],
  ['onDead', { type: 'report', queue: 'low' }, '{"type":"report","queue":"low"}'],
  ['rate', '100/1m', '100/1m'],
  ['groupOnDead', 'hold', 'hold'],
])('%s: %j is shown as %s, which the API takes for the same', (name, stored, text) => {
  const setting = [...QUEUE_SETTINGS, ...TYPE_SETTINGS].find((one) => one.name === name)!;
  expect(settingText(setting, stored)).toBe(text);
  const sent = parseJson(stringifyJson({ sent: settingOf(text) })) as { readonly sent: unknown };
  expect(SETTINGS[name].parse(sent.sent, name)).toEqual(stored);
});

test('what is not set has no text, and an empty text removes it', () => {
  expect(settingText(QUEUE_SETTINGS[0]!, null)).toBeUndefined();
  expect(settingOf('')).toBeNull();
});
