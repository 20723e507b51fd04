import { expect, test } from 'vitest';
import { utf8Text } from '../../src/cli/enqueue/utf8-text.ts';

test('a file that is too long for a text is called that, and not a text of another encoding', () => {
  const megabyte = Buffer.alloc(1_048_576, 'x');
  expect(() =>
    utf8Text(
      Array.from({ length: 513 }, () => megabyte),
      'w.json',
    ),
  ).toThrow('w.json is larger than 512 MB');
  expect(() => utf8Text([Buffer.from([0xff])], 'w.json')).toThrow('w.json is not UTF-8 text');
  expect(utf8Text([Buffer.from('ä').subarray(0, 1), Buffer.from('ä').subarray(1)], 'w.json')).toBe('ä');
});
