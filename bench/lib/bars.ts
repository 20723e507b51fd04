import { BARS } from '../bars.ts';
import type { Notes } from './notes.ts';

/** A measured value: its scenario, its name, and the system measured. */
export type Measured = readonly [scenario: string, what: string, who: string];

/** A goal that the project sets itself: a value, or its ratio to another of the same run, and a limit. */
export interface Bar {
  readonly says: string;
  readonly of: Measured;
  readonly over?: Measured;
  readonly atLeast?: number;
  readonly atMost?: number;
}

export interface Judged {
  readonly scenario: string;
  readonly says: string;
  readonly wanted: string;
  readonly value: number;
  readonly met: boolean;
}

/** Judge the bars whose values were measured in this run. */
export function judge(notes: Notes): Judged[] {
  return BARS.flatMap((bar) => {
    const value = notes.median(...bar.of);
    const over = bar.over === undefined ? 1 : notes.median(...bar.over);
    if (value === undefined || over === undefined) return [];
    const ratio = value / over;
    const { atLeast = -Infinity, atMost = Infinity } = bar;
    return {
      scenario: bar.of[0],
      says: bar.says,
      wanted: bar.atLeast === undefined ? `≤ ${bar.atMost}` : `≥ ${bar.atLeast}`,
      value: ratio,
      met: ratio >= atLeast && ratio <= atMost,
    };
  });
}
