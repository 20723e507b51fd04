import type { ComponentChildren } from 'preact';
import { useId, useRef } from 'preact/hooks';
import { useKeys } from '../lib/use-keys.ts';

export interface Column<Row> {
  readonly title: string;
  /** Shown instead of the title, if it is more than text. */
  readonly heading?: ComponentChildren;
  cell(row: Row): ComponentChildren;
  /** Numbers stand at the end. */
  readonly align?: 'end';
  /** Left out where the window is narrow. */
  readonly isWide?: boolean;
}

/** The keys of the rows that are selected. */
export interface Selection {
  readonly keys: ReadonlySet<string>;
  change(keys: ReadonlySet<string>): void;
}

interface DataTableProps<Row> {
  readonly caption: string;
  /** The first names the row, and has its link. */
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  keyOf(row: Row): string;
  /** Where the name of a row leads. */
  hrefOf?(row: Row): string;
  readonly gone?: ReadonlySet<string> | undefined;
  readonly selection?: Selection | undefined;
}

/** A table whose rows are reached by j and k, selected by x and opened by Enter. */
export function DataTable<Row>(props: DataTableProps<Row>) {
  const { caption, columns, rows, keyOf, gone, selection } = props;
  const body = useRef<HTMLTableSectionElement>(null);
  const label = useId();
  const toggle = (key: string) => selection?.change(toggled(selection.keys, key));
  useKeys([
    { keys: 'j', text: 'next row', run: () => move(body.current, 1) },
    { keys: 'k', text: 'previous row', run: () => move(body.current, -1) },
    ...(selection === undefined
      ? []
      : [
          {
            keys: 'x',
            text: 'select the row',
            run: () => onFocused(body.current, rows, (row) => toggle(keyOf(row))),
          },
        ]),
  ]);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
    <section class="table" aria-labelledby={label} tabIndex={0}>
      <table>
        <caption id={label}>{caption}</caption>
        <thead>
          <tr>
            {selection && <SelectAll rows={rows.map(keyOf)} selection={selection} />}
            {columns.map((column) => (
              <th key={column.title} scope="col" class={classOf(column)}>
                {column.heading ?? column.title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody ref={body}>
          {rows.map((row) => {
            const key = keyOf(row);
            return (
              <TableRow
                key={key}
                {...props}
                row={row}
                isGone={gone?.has(key) ?? false}
                toggle={() => toggle(key)}
              />
            );
          })}
        </tbody>
      </table>
    </section>
  );
}

interface TableRowProps<Row> extends DataTableProps<Row> {
  readonly row: Row;
  readonly isGone: boolean;
  toggle(): void;
}

function TableRow<Row>({ columns, keyOf, hrefOf, selection, row, isGone, toggle }: TableRowProps<Row>) {
  const [first, ...others] = columns;
  const key = keyOf(row);
  const isSelected = selection?.keys.has(key) ?? false;
  const name = first!.cell(row);
  return (
    <tr tabIndex={-1} class={`${isGone ? 'gone' : ''} ${isSelected ? 'selected' : ''}`}>
      {selection && (
        <td class="select">
          <input type="checkbox" aria-label={`Select ${key}`} checked={isSelected} onChange={toggle} />
        </td>
      )}
      <th scope="row" class={classOf(first!)}>
        {hrefOf === undefined ? name : <a href={hrefOf(row)}>{name}</a>}
        {isGone && <span class="unseen"> (no longer part of the list)</span>}
      </th>
      {others.map((column) => (
        <td key={column.title} class={classOf(column)}>
          {column.cell(row)}
        </td>
      ))}
    </tr>
  );
}

function SelectAll({ rows, selection }: { readonly rows: readonly string[]; readonly selection: Selection }) {
  const isAll = rows.length > 0 && rows.every((key) => selection.keys.has(key));
  return (
    <td class="select">
      <input
        type="checkbox"
        aria-label="Select all rows"
        checked={isAll}
        onChange={() => selection.change(isAll ? new Set() : new Set(rows))}
      />
    </td>
  );
}

function classOf<Row>({ align, isWide }: Column<Row>): string {
  return `${align ?? ''} ${isWide ? 'wide' : ''}`;
}

function toggled(keys: ReadonlySet<string>, key: string): ReadonlySet<string> {
  const result = new Set(keys);
  if (!result.delete(key)) result.add(key);
  return result;
}

function focusedPlace(body: HTMLElement | null): number {
  const row = document.activeElement?.closest('tr');
  return row == null ? -1 : [...(body?.children ?? [])].indexOf(row);
}

function move(body: HTMLElement | null, by: 1 | -1): void {
  const at = focusedPlace(body);
  const next = body?.children[at === -1 ? 0 : at + by];
  if (!(next instanceof HTMLElement)) return;
  (next.querySelector<HTMLElement>('th a') ?? next).focus();
  next.scrollIntoView({ block: 'nearest' });
}

function onFocused<Row>(body: HTMLElement | null, rows: readonly Row[], act: (row: Row) => void): void {
  const row = rows[focusedPlace(body)];
  if (row !== undefined) act(row);
}
