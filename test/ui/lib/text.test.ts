import { expect, test } from 'vitest';
import { counted, duration, relative, visible } from '../../../src/ui/lib/text.ts';

test.each([
  [0, '0 ms'],
  [999.6, '999 ms'],
  [1234, '1.2 s'],
  [9999, '9.9 s'],
  [59_999, '59 s'],
  [60_000, '1 min'],
  [7_500_000, '2 h 5 min'],
  [90_000_000, '1 d 1 h'],
  [-7_500_000, '−2 h 5 min'],
])('%d ms are %s', (ms, text) => expect(duration(ms)).toBe(text));

test.each([
  [0, 'now'],
  [-999, 'now'],
  [7400, '7 s ago'],
  [3_599_000, '59 min ago'],
  [-7_300_000, 'in 2 h'],
  [86_400_000 * 400, '400 d ago'],
])('%d ms before now is %s', (ms, text) => expect(relative(new Date(1e12 - ms), 1e12)).toBe(text));

test('what cannot be seen, or turns text around, is written out', () => {
  expect(visible('a\u202eb\u0007\u200bc\ufeff\n\td')).toBe('a\\u202eb\\u0007\\u200bc\\ufeff\n\td');
  expect(visible('👩‍💻 ش é 日本')).toBe('👩‍💻 ش é 日本');
});

test('counts have separators and a plural', () => {
  expect([counted(1, 'task'), counted(12_345, 'task'), counted(2, 'query', 'queries')]).toEqual([
    '1 task',
    '12,345 tasks',
    '2 queries',
  ]);
});
