import stringWidth from 'string-width';
import type { Screen } from '../run/output.ts';
import { printable } from './printable.ts';

export interface Column<Row> {
  readonly title: string;
  /** The text of a cell; control characters in it are made visible. */
  readonly cell: (row: Row) => string;
  readonly align?: 'right';
  /** Wraps the padded cell in colour. */
  readonly paint?: (text: string, row: Row) => string;
  /** Shrink this column, down to this width, when the table is wider than the terminal. */
  readonly shrinksTo?: number;
  /** Leave this column out where that is not enough: one without a value first, then the lowest number. Absent: keep it. */
  readonly leaves?: number;
}

/**
 * Lay out rows under their titles, aligned. Keeps lines within the terminal: first shrinks the columns that may shrink,
 * then leaves columns out, as `leaves` says, then cuts all. Without a terminal it shrinks nothing.
 */
export function formatTable<Row>(
  all: readonly Column<Row>[],
  rows: readonly Row[],
  screen: Pick<Screen, 'paint' | 'columns' | 'leftOut'>,
): string {
  const columns = screen.columns === null ? all : fitting(all, rows, screen.columns);
  const left = all.filter((column) => !columns.includes(column) && !isEmpty(column, rows));
  screen.leftOut(left.map(({ title }) => title));
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

/** The columns that fit beside each other once those that may shrink have shrunk. */
function fitting<Row>(
  all: readonly Column<Row>[],
  rows: readonly Row[],
  limit: number,
): readonly Column<Row>[] {
  const least = new Map(
    all.map((column) => {
      const natural = Math.max(
        ...[column.title, ...rows.map((row) => printable(column.cell(row)))].map((text) => stringWidth(text)),
      );
      return [column, Math.min(natural, column.shrinksTo ?? natural)];
    }),
  );
  let columns = all;
  const order = new Map(all.map((column) => [column, isEmpty(column, rows) ? -1 : column.leaves!]));
  const leaving = all
    .filter(({ leaves }) => leaves !== undefined)
    .toSorted((a, b) => order.get(a)! - order.get(b)!);
  const total = () =>
    columns.reduce((sum, column) => sum + least.get(column)!, 0) + GAP.length * (columns.length - 1);
  for (const column of leaving) {
    if (total() <= limit) break;
    columns = columns.filter((other) => other !== column);
  }
  return columns;
}

/** Whether no row has a value in this column. */
function isEmpty<Row>({ cell }: Column<Row>, rows: readonly Row[]): boolean {
  return rows.every((row) => cell(row) === '-');
}

/** Narrow the widest column that may shrink; where that is not enough, the widest of all. */
function fitted(
  columns: readonly Column<never>[],
  natural: readonly number[],
  limit: number | null,
): number[] {
  const widths = [...natural];
  const total = () => widths.reduce((sum, width) => sum + width, 0) + GAP.length * (widths.length - 1);
  const widest = (mayShrink: (place: number) => boolean) =>
    widths.reduce(
      (best, width, at) => (mayShrink(at) && (best < 0 || width > widths[best]!) ? at : best),
      -1,
    );
  while (limit !== null && total() > limit) {
    const willing = widest((at) => widths[at]! > (columns[at]!.shrinksTo ?? widths[at]!));
    const place = willing >= 0 ? willing : widest((at) => widths[at]! > 1);
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

/** Cut to a width on the screen; a cut text ends in an ellipsis. */
function cutTo(text: string, width: number): string {
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
