import type { ComponentChildren } from 'preact';
import { useApp } from '../lib/app.ts';
import type { List } from '../lib/list.ts';
import { counted } from '../lib/text.ts';
import { useKeys } from '../lib/use-keys.ts';
import { type Column, DataTable, type Selection } from './data-table.tsx';
import { Empty, LoadedView } from './loaded.tsx';
import { ProblemView } from './problem.tsx';
import { Time } from './text.tsx';

interface ListViewProps<Row> {
  readonly list: List<Row>;
  readonly caption: string;
  readonly columns: readonly Column<Row>[];
  keyOf(row: Row): string;
  hrefOf?(row: Row): string;
  readonly selection?: Selection | undefined;
  readonly empty: ComponentChildren;
}

/** A list that is read by pages, and shows new rows on request. */
export function ListView<Row>({ list, empty, ...table }: ListViewProps<Row>) {
  const { live } = useApp();
  useKeys([
    {
      keys: 'r',
      text: 'show new rows; if there are none, hold updates or go on',
      run: () => (list.news > 0 ? list.showNew() : live.toggle()),
    },
  ]);
  return (
    <LoadedView of={list}>
      {(rows) => (
        <>
          <p class="news" role="status">
            {list.news > 0 && (
              <button type="button" onClick={list.showNew}>
                {counted(list.news, 'new row')} – <kbd>r</kbd> to show
              </button>
            )}
          </p>
          {rows.length > 0 && <DataTable {...table} rows={rows} gone={list.gone} />}
          {rows.length === 0 && (list.more === undefined ? empty : <Empty text="No match so far." />)}
          {list.moreProblem !== undefined && <ProblemView problem={list.moreProblem} />}
          {list.more !== undefined && (
            <p class="more">
              {list.lookedBackTo !== undefined && (
                <span class="muted">
                  Searched back to <Time at={list.lookedBackTo} />.{' '}
                </span>
              )}
              <button type="button" disabled={list.isReadingMore} onClick={list.more}>
                {list.isReadingMore
                  ? 'Loading…'
                  : list.lookedBackTo === undefined
                    ? 'More'
                    : 'Search further'}
              </button>
            </p>
          )}
        </>
      )}
    </LoadedView>
  );
}
