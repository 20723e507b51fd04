import { expect, test } from 'vitest';
import { refreshed, type Shown } from '../../../src/ui/lib/list.ts';

const shownOf = (keys: string, after: string | null = null): Shown<string> => {
  const page = { rows: [...keys], after };
  return { path: 'tasks', ...page, gone: new Set(), fresh: page, news: 0 };
};
const read = (last: Shown<string>, keys: string, after: string | null = null) =>
  refreshed(last, { rows: [...keys], after }, (key) => key);

test.each<[what: string, shown: string, fresh: string, after: string | null, gone: string, news: number]>([
  ['nothing has happened', 'fed', 'fed', 'd', '', 0],
  ['rows came', 'fed', 'hgfed', 'd', '', 2],
  ['rows came and the page ends earlier', 'fed', 'hgf', 'f', '', 2],
  ['a row went', 'fed', 'fd', 'd', 'e', 0],
  ['the last row went, and one below it is read', 'fed', 'fec', 'c', '', 1],
  ['the last row of all went', 'fed', 'fe', null, 'd', 0],
  ['all went', 'fed', '', null, 'fed', 0],
  ['none of the rows is read any longer', 'fed', 'zyx', 'x', '', 3],
])('%s: every row stays where it is', (_, shown, fresh, after, gone, news) => {
  const result = read(shownOf(shown), fresh, after);
  expect([result.rows.join(''), [...result.gone].join(''), result.news]).toEqual([shown, gone, news]);
});

test('a row that comes back is part of the list again', () => {
  expect(read(read(shownOf('fed'), 'fd'), 'fed').gone.size).toBe(0);
});

test('rows appear by themselves where none is shown', () => {
  expect(read(shownOf(''), 'ba').rows).toEqual(['b', 'a']);
});
