import { median } from './statistics.ts';

export type Unit = 'tasks/s' | 'ms' | 's' | 'ratio' | 'MB' | 'per task' | 'per s' | 'count' | '% of a core';

/** A value that was measured in each round. */
export interface Note {
  readonly scenario: string;
  /** What was measured: `1 process`, `idle, p50`. */
  readonly what: string;
  /** The system and its tuning: `taskq`, `graphile-worker, defaults`. */
  readonly who: string;
  readonly unit: Unit;
  readonly values: number[];
}

/** The measurements of a run so far. */
export class Notes {
  readonly all: Note[] = [];

  add(scenario: string, what: string, who: string, value: number, unit: Unit): void {
    let note = this.#find(scenario, what, who);
    if (note === undefined) {
      note = { scenario, what, who, unit, values: [] };
      this.all.push(note);
    }
    note.values.push(value);
  }

  /** The median of the measured values; undefined: there are none. */
  median(scenario: string, what: string, who: string): number | undefined {
    return median(this.#find(scenario, what, who)?.values ?? []);
  }

  /** The measurements of one scenario, grouped, in the order of first appearance. */
  of(scenario: string): readonly Note[] {
    const own = this.all.filter((note) => note.scenario === scenario);
    const firstOf = (what: string) => own.findIndex((note) => note.what === what);
    return own.toSorted((a, b) => firstOf(a.what) - firstOf(b.what));
  }

  #find(scenario: string, what: string, who: string): Note | undefined {
    return this.all.find((note) => note.scenario === scenario && note.what === what && note.who === who);
  }
}
