import fc from 'fast-check';
import { expect, test } from 'vitest';
import { wrapText } from '../../src/lib/wrap.ts';

test('a paragraph is broken at blanks, and flows on through the lines it had', () => {
  const text = 'one two three four five\nsix seven eight\n\nnine';
  expect(wrapText(text, 12)).toBe('one two\nthree four\nfive six\nseven eight\n\nnine');
  expect(wrapText(text, 40)).toBe(text);
});

test('what follows a name is indented under its own beginning, the lines after it too', () => {
  const text = '  DUE   tasks whose time\n        has come\n  DEAD  dead letters';
  expect(wrapText(text, 20)).toBe(
    '  DUE   tasks whose\n        time has\n        come\n  DEAD  dead letters',
  );
});

test('a coloured name is as wide as it looks', () => {
  const dim = (text: string) => `\u001b[2m${text}\u001b[22m`;
  expect(wrapText(`  ${dim('DUE ')}  tasks whose time has come`, 20)).toBe(
    `  ${dim('DUE ')}  tasks whose\n        time has\n        come`,
  );
});

test('a command is continued below itself, and the next one stays a line of its own', () => {
  expect(wrapText('  taskq enqueue a\n  taskq list', 15)).toBe('  taskq enqueue\n    a\n  taskq list');
});

test('a word wider than the screen stays whole, and colours have no width', () => {
  expect(wrapText('see https://example.org/a/b now', 10)).toBe('see\nhttps://example.org/a/b\nnow');
  expect(wrapText('\u001b[32mone\u001b[39m two', 7)).toBe('\u001b[32mone\u001b[39m two');
  expect(wrapText('\u001b[32mone\u001b[39m two', 6)).toBe('\u001b[32mone\u001b[39m\ntwo');
});

test('no line is wider than the screen but for a single word, and no word is lost', () => {
  const word = fc.stringMatching(/^[a-z]{1,12}$/);
  const line = fc.tuple(fc.constantFrom('', '  ', '      '), fc.array(word, { maxLength: 12 }));
  fc.assert(
    fc.property(fc.array(line, { maxLength: 6 }), fc.integer({ min: 8, max: 60 }), (lines, columns) => {
      const text = lines.map(([indent, words]) => indent + words.join(' ')).join('\n');
      const wrapped = wrapText(text, columns);
      const words = (of: string) => of.split(/\s+/).filter((each) => each !== '');
      expect(words(wrapped)).toEqual(words(text));
      for (const each of wrapped.split('\n'))
        expect(each.trimEnd().length <= columns || words(each).length <= 1).toBe(true);
    }),
  );
});
