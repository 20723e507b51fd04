import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import type { ApiProblem } from './api.ts';
import { get, withQuery } from './api.ts';
import { type Loaded, problemOf, useLoad } from './load.ts';

/** A list as it is shown. No row moves: new rows are counted, and shown on request. */
export interface List<Row> extends Loaded<readonly Row[]> {
  /** The keys of rows that are no longer part of it. */
  readonly gone: ReadonlySet<string>;
  /** How many rows are new. */
  readonly news: number;
  showNew(): void;
  /** Reads the next page; undefined: there is none. */
  readonly more: (() => void) | undefined;
  /** How far back the search went, if it ended before it had a whole page. */
  readonly lookedBackTo: string | undefined;
  /** Why the next page could not be read. */
  readonly moreProblem: ApiProblem | undefined;
  readonly isReadingMore: boolean;
}

export interface Page<Row> {
  readonly rows: readonly Row[];
  readonly after: string | null;
  readonly lookedBackTo?: string | undefined;
}

/** A list as shown, and its newer state. */
export interface Shown<Row> {
  readonly path: string;
  readonly rows: readonly Row[];
  readonly after: string | null;
  readonly lookedBackTo?: string | undefined;
  readonly gone: ReadonlySet<string>;
  readonly fresh: Page<Row>;
  readonly news: number;
}

export interface ListOptions<Row> {
  /** The path with its parameters, without `limit` and `after`; null: nothing. */
  readonly path: string | null;
  /** The member of the answer that has the rows. */
  readonly member: string;
  keyOf(row: Row): string;
  readonly limit?: number;
}

/** Reads a list by pages, and keeps the first of them up to date without moving a row. */
export function useList<Row>({ path, member, keyOf, limit = 50 }: ListOptions<Row>): List<Row> {
  const first = path === null ? null : withLimit(path, limit);
  const { data, at, problem, reload } = useLoad<Readonly<Record<string, unknown>>>(first);
  const [shown, setShown] = useState<Shown<Row>>();
  const [more, setMore] = useState<{ readonly isReading: boolean; readonly problem?: ApiProblem }>({
    isReading: false,
  });
  const key = useRef(keyOf);
  key.current = keyOf;
  useEffect(() => {
    if (data === undefined || first === null) return;
    const fresh = pageOf<Row>(data, member);
    setShown((last) => (last?.path === first ? refreshed(last, fresh, key.current) : begun(first, fresh)));
  }, [data, first, member]);
  const current = shown?.path === first ? shown : undefined;
  const after = current?.after ?? null;
  const readMore = useCallback(async () => {
    if (first === null || after === null) return;
    setMore({ isReading: true });
    try {
      const next = pageOf<Row>(await get(`${first}&after=${encodeURIComponent(after)}`), member);
      setShown((last) =>
        last?.path === first && last.after === after ? extended(last, next, key.current) : last,
      );
      setMore({ isReading: false });
    } catch (error) {
      setMore({ isReading: false, problem: problemOf(error) });
    }
  }, [first, after, member]);
  return {
    ...{ data: current?.rows, at, problem, reload },
    ...{ gone: current?.gone ?? new Set(), news: current?.news ?? 0 },
    showNew: () => setShown((last) => last && begun(last.path, last.fresh)),
    ...{
      more: after === null ? undefined : readMore,
      lookedBackTo: current?.lookedBackTo,
      isReadingMore: more.isReading,
      moreProblem: more.problem,
    },
  };
}

function withLimit(path: string, limit: number): string {
  const [bare = '', query = ''] = path.split(/\?(.*)/s);
  const params = Object.fromEntries(
    [...new URLSearchParams(query).keys()].map((name) => [name, new URLSearchParams(query).getAll(name)]),
  );
  return withQuery(bare, { ...params, limit });
}

function pageOf<Row>(answer: Readonly<Record<string, unknown>>, member: string): Page<Row> {
  return {
    rows: answer[member] as readonly Row[],
    after: (answer.after as string | null | undefined) ?? null,
    lookedBackTo: (answer.lookedBackTo as string | null | undefined) ?? undefined,
  };
}

function begun<Row>(path: string, fresh: Page<Row>): Shown<Row> {
  const { rows, after, lookedBackTo } = fresh;
  return { path, rows, after, lookedBackTo, gone: new Set(), fresh, news: 0 };
}

/** The rows as they are now, each where it was. */
export function refreshed<Row>(last: Shown<Row>, fresh: Page<Row>, keyOf: (row: Row) => string): Shown<Row> {
  if (last.rows.length === 0) return begun(last.path, fresh);
  const now = new Map(fresh.rows.map((row) => [keyOf(row), row]));
  const shown = new Set(last.rows.map(keyOf));
  const rows = last.rows.map((row) => now.get(keyOf(row)) ?? row);
  // The fresh page covers the list down to its last row, and nothing below.
  const reach = fresh.after === null ? rows.length : rows.findLastIndex((row) => now.has(keyOf(row)));
  const gone = new Set(last.gone);
  rows.forEach((row, place) => {
    if (now.has(keyOf(row))) gone.delete(keyOf(row));
    else if (place < reach) gone.add(keyOf(row));
  });
  return { ...last, rows, gone, fresh, news: fresh.rows.filter((row) => !shown.has(keyOf(row))).length };
}

/** The rows and those of the next page. */
function extended<Row>(last: Shown<Row>, next: Page<Row>, keyOf: (row: Row) => string): Shown<Row> {
  const shown = new Set(last.rows.map(keyOf));
  return {
    ...last,
    rows: [...last.rows, ...next.rows.filter((row) => !shown.has(keyOf(row)))],
    after: next.after,
    lookedBackTo: next.lookedBackTo,
  };
}
