import type { Judged } from './bars.ts';
import type { Note, Notes, Unit } from './notes.ts';
import { median } from './statistics.ts';

/** The results as text: by scenario what was measured, for which system, and the ratio to taskq's own value. */
export function tableOf(
  notes: Notes,
  titles: ReadonlyMap<string, string>,
  judged: readonly Judged[],
): string {
  const rows: string[][] = [];
  for (const [scenario, title] of titles) {
    const own = notes.of(scenario);
    if (own.length === 0) continue;
    rows.push([], [`${scenario}: ${title}`], ['', 'who', 'median', '', '÷ taskq', 'rounds']);
    for (const [index, note] of own.entries()) {
      rows.push([own[index - 1]?.what === note.what ? '' : note.what, ...cells(note, notes)]);
    }
  }
  const bars = judged.map(({ says, wanted, value, met }) => [
    says,
    wanted,
    short(value),
    met ? 'met' : 'MISSED',
  ]);
  const heading = [['bars'], ['', 'wanted', 'measured', '']];
  return bars.length === 0 ? align(rows) : `${align(rows)}\n\n${align([...heading, ...bars])}`;
}

function cells(note: Note, notes: Notes): string[] {
  const value = median(note.values)!;
  const ours = notes.median(note.scenario, note.what, 'taskq');
  const ratio = ours === undefined || note.who === 'taskq' ? '' : `${(value / ours).toFixed(2)} ×`;
  return [
    note.who,
    format(value, note.unit),
    note.unit,
    ratio,
    note.values.map((one) => format(one, note.unit)).join(' '),
  ];
}

function format(value: number, unit: Unit): string {
  return unit === 'tasks/s' ? Math.round(value).toLocaleString('en') : short(value);
}

/** Round to three significant digits. */
function short(value: number): string {
  if (Math.abs(value) >= 100) return Math.round(value).toLocaleString('en');
  return String(Number(value.toPrecision(3)));
}

/** Headings (a single cell) do not widen the columns. */
function align(rows: readonly (readonly string[])[]): string {
  const widths: number[] = [];
  for (const row of rows) {
    if (row.length > 1)
      for (const [index, cell] of row.entries()) widths[index] = Math.max(widths[index] ?? 0, cell.length);
  }
  return rows
    .map((row) =>
      row
        .map((cell, index) => (row.length === 1 ? cell : cell.padEnd(widths[index]!)))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
