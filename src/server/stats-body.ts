import type { Sample, WorkerCounts } from '../queue/inspect/get-sample.ts';
import { camel } from './camel.ts';

/** The most queues and types in an answer; the others are summed up as `_other`. */
export const MOST_PAIRS = 1000;

/** How long a request may count waiting tasks, in milliseconds; if that is not enough, `atLeast` is set. */
export const COUNT_MS = 50;

/** The body of `GET stats`, and of the events of `GET live`. */
export function statsOf({ pairs, unhandled, workers, ...rest }: Sample): object {
  return {
    ...camel(rest),
    pairs: pairs.map(camel),
    unhandledTypes: unhandled.map(({ type }) => type),
    workers: workers && camel(workers satisfies WorkerCounts),
  };
}
