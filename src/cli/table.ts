import stringWidth from 'string-width';
import type { Screen } from './output.ts';
import { printable } from './printable.ts';

export interface Column<Row> {
  readonly title: string;
  /** The text of a cell; control characters in it are made visible. */
  readonly cell: (row: Row) => string;
  readonly align?: 'right';
  /** Wraps the padded cell in colour. */
  readonly paint?: (text: string, row: Row) => string;
  /** It gives way when the table is wider than the terminal, down to this many columns. */
  readonly shrinksTo?: number;
}

/** Lay out rows under their titles, aligned; no line is longer than a terminal's, and nothing is cut elsewhere. */
export function formatTable<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  screen: Pick<Screen, 'paint' | 'columns'>,
): string {
  const texts = rows.map((row) => columns.map((column) => printable(column.cell(row))));
  const natural = columns.map(({ title }, place) =>
    Math.max(...[[title], ...texts.map((cells) => [cells[place]!])].map(([text]) => stringWidth(text!))),
  );
  const widths = fitted(columns, natural, screen.columns);
  const line = (cells: readonly string[], paint: (text: string, place: number) => string) =>
    cells
      .map((cell, place) =>
        paint(padded(cell, widths[place]!, columns[place]!, place === columns.length - 1), place),
      )
      .join(GAP)
      .trimEnd();
  const head = line(
    columns.map(({ title }) => title),
    (text) => screen.paint.dim(text),
  );
  const body = texts.map((cells, index) =>
    line(cells, (text, place) => columns[place]!.paint?.(text, rows[index]!) ?? text),
  );
  return [head, ...body].join('\n');
}

const GAP = '  ';

/** The widest of those that may shrink gives way first. */
function fitted(
  columns: readonly Column<never>[],
  natural: readonly number[],
  limit: number | null,
): number[] {
  const widths = [...natural];
  const total = () => widths.reduce((sum, width) => sum + width, 0) + GAP.length * (widths.length - 1);
  while (limit !== null && total() > limit) {
    const candidates = widths.map((width, place) => width - (columns[place]!.shrinksTo ?? width));
    const place = widths.reduce(
      (best, width, at) => (candidates[at]! > 0 && (best < 0 || width > widths[best]!) ? at : best),
      -1,
    );
    if (place < 0) break;
    widths[place] = widths[place]! - 1;
  }
  return widths;
}

function padded(text: string, width: number, column: Column<never>, isLast: boolean): string {
  const cut = cutTo(text, width);
  const blanks = ' '.repeat(Math.max(0, width - stringWidth(cut)));
  if (column.align === 'right') return blanks + cut;
  return isLast ? cut : cut + blanks;
}

/** Cut to a width on the screen; what is cut ends in an ellipsis. */
export function cutTo(text: string, width: number): string {
  if (stringWidth(text) <= width) return text;
  let cut = '';
  let used = 0;
  for (const { segment } of SEGMENTER.segment(text)) {
    used += stringWidth(segment);
    if (used > width - 1) break;
    cut += segment;
  }
  return `${cut}…`;
}

const SEGMENTER = new Intl.Segmenter();
