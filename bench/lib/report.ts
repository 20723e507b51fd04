import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { cpus, totalmem } from 'node:os';
import { type Judged, judge } from './bars.ts';
import { draw } from './draw.ts';
import type { Note, Notes } from './notes.ts';
import type { BenchOptions } from './options.ts';
import type { Scenario } from './scenario.ts';
import { tableOf } from './table.ts';

/** The conditions of a run. */
export interface About {
  readonly date: string;
  readonly options: BenchOptions;
  /** The server's settings that matter. */
  postgres?: Readonly<Record<string, string>>;
  redis?: string | undefined;
}

/** A run as a file below results/ stores it. */
export interface Run extends About {
  readonly machine: object;
  readonly notes: readonly Note[];
  readonly bars: readonly Judged[];
}

const RESULTS = new URL('../results/', import.meta.url);

/**
 * Print the measurements, and store them with a drawing below results/, unless the run was at a reduced size. A day has
 * one file, with the last run of each scenario; compared values come from the same run.
 */
export async function report(notes: Notes, chosen: readonly Scenario[], about: About): Promise<void> {
  if (notes.all.length === 0) return;
  const bars = judge(notes);
  console.log(tableOf(notes, new Map(chosen.map(({ name, title }) => [name, title])), bars));
  if (about.options.quick) {
    console.log('\n--quick: at a reduced size, to see that it works.');
    return;
  }
  const machine = { cpus: cpus().length, model: cpus()[0]?.model, memory: totalmem(), node: process.version };
  const file = new URL(`${about.date.slice(0, 10)}.json`, RESULTS);
  const runs = withRun(await runsIn(file), { ...about, machine, notes: notes.all, bars });
  await mkdir(RESULTS, { recursive: true });
  await writeFile(file, `${JSON.stringify(runs, null, 2)}\n`);
  const drawing = draw(notes);
  if (drawing !== undefined) await writeFile(new URL('latest.svg', RESULTS), drawing);
}

async function runsIn(file: URL): Promise<Run[]> {
  const text = await readFile(file, 'utf8').catch(() => '[]');
  return JSON.parse(text) as Run[];
}

/** Add a run; its scenarios replace those of earlier runs. */
export function withRun(before: readonly Run[], run: Run): Run[] {
  const repeated = new Set(run.notes.map(({ scenario }) => scenario));
  const isKept = ({ scenario }: { readonly scenario: string }) => !repeated.has(scenario);
  const kept = before.map((one) => ({
    ...one,
    notes: one.notes.filter(isKept),
    bars: one.bars.filter(isKept),
  }));
  return [...kept.filter(({ notes }) => notes.length > 0), run];
}
