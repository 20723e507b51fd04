import pc from 'picocolors';
import { expect, test } from 'vitest';
import { type Column, formatTable } from '../../src/cli/table.ts';

interface Row {
  readonly id: number;
  readonly text: string;
}

const columns: Column<Row>[] = [
  { title: 'ID', cell: ({ id }) => String(id), align: 'right' },
  { title: 'TEXT', cell: ({ text }) => text, shrinksTo: 6 },
  { title: 'END', cell: () => 'x' },
];
const rows: Row[] = [
  { id: 1, text: '日本語テキスト' },
  { id: 1234, text: 'short' },
  { id: 5, text: 'two\nlines\u001b[2J' },
];
const paint = pc.createColors(false);

test('columns are aligned by what is seen, and nothing is cut where there is no terminal', () => {
  expect(formatTable(columns, rows, { paint, columns: null })).toBe(
    [
      '  ID  TEXT                END',
      '   1  日本語テキスト      x',
      '1234  short               x',
      '   5  two lines\\u001b[2J  x',
    ].join('\n'),
  );
});

test('on a terminal the widest column that may gives way', () => {
  expect(formatTable(columns, rows, { paint, columns: 20 })).toBe(
    ['  ID  TEXT       END', '   1  日本語テ…  x', '1234  short      x', '   5  two line…  x'].join('\n'),
  );
});

test('colours do not move what they colour', () => {
  const red = columns.map((column) => ({ ...column, paint: pc.createColors(true).red }));
  const painted = formatTable(red, rows, { paint: pc.createColors(true), columns: 20 });
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the colours
  expect(painted.replaceAll(/\u001b\[\d+m/g, '').replaceAll(/ +$/gm, '')).toBe(
    formatTable(columns, rows, { paint, columns: 20 }),
  );
});
