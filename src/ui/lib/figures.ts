import type { Stats, StatsPair } from './stats.ts';

/** The statuses that `GET stats` counts. */
export const COUNTED = ['pending', 'blocked', 'leased', 'running', 'dead'] as const;

export type Counted = (typeof COUNTED)[number];

/** The figures of a queue, over all its types. */
export interface QueueFigures {
  readonly queue: string;
  readonly counts: Readonly<Record<Counted, number>>;
  readonly due: number;
  /** Since when its oldest due task is due. */
  readonly oldestAt: string | null;
  /** Tasks recently completed per minute; null: not known yet. */
  readonly rate: number | null;
}

/** The name of all queues beyond the largest thousand pairs. */
export const OTHER_QUEUES = '_other';

/** The figures of each queue, by name; those of `others` that have no task are there too. */
export function figuresOf(
  { pairs }: Stats,
  rates: ReadonlyMap<string, number>,
  others: readonly string[] = [],
): readonly QueueFigures[] {
  const byQueue = new Map<string, StatsPair[]>(others.map((queue) => [queue, []]));
  for (const pair of pairs) byQueue.set(pair.queue, [...(byQueue.get(pair.queue) ?? []), pair]);
  return [...byQueue]
    .map(([queue, own]) => ({
      queue,
      counts: Object.fromEntries(
        COUNTED.map((status) => [status, sum(own.map(({ counts }) => counts[status] ?? 0))]),
      ) as Record<Counted, number>,
      due: sum(own.map(({ due }) => due)),
      oldestAt: own.flatMap(({ oldestAt }) => oldestAt ?? []).sort()[0] ?? null,
      rate: rates.get(queue) ?? null,
    }))
    .sort((one, other) => (one.queue < other.queue ? -1 : 1));
}

/** How many tasks each queue has completed so far, as of a time in milliseconds. */
export interface Completions {
  readonly at: number;
  readonly byQueue: ReadonlyMap<string, number>;
}

/** The period over which a rate is computed. */
const WINDOW_MS = 300_000;

/** Adds a sample to those of the last minutes, of which only the completions are kept. */
export function recorded(
  history: readonly Completions[],
  { sampledAt, pairs }: Stats,
): readonly Completions[] {
  if (sampledAt === null) return history;
  const at = Date.parse(sampledAt);
  if (history.at(-1)?.at === at) return history;
  const byQueue = new Map<string, number>();
  for (const { queue, ended } of pairs)
    byQueue.set(queue, (byQueue.get(queue) ?? 0) + (ended.completed ?? 0));
  return [...history.filter((earlier) => at - earlier.at <= WINDOW_MS), { at, byQueue }];
}

/** Completed tasks in a minute for each queue; empty before the second sample. */
export function ratesOf(history: readonly Completions[]): ReadonlyMap<string, number> {
  const [first, last] = [history[0], history.at(-1)];
  if (first === undefined || last === undefined || last.at <= first.at) return new Map();
  const minutes = (last.at - first.at) / 60_000;
  // Sums begin anew where the metrics of a queue were deleted.
  return new Map(
    [...last.byQueue].map(([queue, done]) => [
      queue,
      Math.max(0, done - (first.byQueue.get(queue) ?? 0)) / minutes,
    ]),
  );
}

export function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
