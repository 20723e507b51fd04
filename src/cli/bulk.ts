import type { Database } from '../lib/database.ts';
import { findIds, type TaskFilter } from '../queue/find-tasks.ts';
import type { Context } from './context.ts';
import { countOf, withCommas } from './count.ts';
import { startProgress } from './progress.ts';

export interface BulkAnswer {
  readonly id: string;
  readonly answer: string;
}

/** How many tasks got which answer, and the answers of those that were named or refused. */
export interface BulkResult<Answer extends BulkAnswer> {
  readonly counts: Readonly<Record<string, number>>;
  readonly answers: readonly Answer[];
}

/** At most so many answers are kept of a bulk, for the eye. */
const MAX_KEPT = 1000;

/** Act on tasks named by id. */
export async function actOnIds<Answer extends BulkAnswer>(
  act: (ids: readonly string[]) => Promise<readonly Answer[]>,
  ids: readonly string[],
): Promise<BulkResult<Answer>> {
  const answers = await act([...new Set(ids)]);
  const counts: Record<string, number> = {};
  for (const { answer } of answers) counts[answer] = (counts[answer] ?? 0) + 1;
  return { counts, answers };
}

/**
 * Act on all tasks that fit, a page at a time with no lock over a page; `keeps` says which answers are listed. Ends
 * early, with what it has done, when a signal asks to.
 */
export async function actOnMatches<Answer extends BulkAnswer>(
  context: Context,
  filter: TaskFilter,
  act: (ids: readonly string[]) => Promise<readonly Answer[]>,
  keeps: (answer: Answer) => boolean = () => false,
): Promise<BulkResult<Answer>> {
  const counts: Record<string, number> = {};
  const kept: Answer[] = [];
  const db = await context.database();
  context.catchSignals();
  const progress = await startProgress(context.output, 'looking for tasks');
  let done = 0;
  try {
    for await (const ids of findIds(db, filter)) {
      if (context.signal.aborted) break;
      for (const answer of await act(ids)) {
        counts[answer.answer] = (counts[answer.answer] ?? 0) + 1;
        if (keeps(answer) && kept.length < MAX_KEPT) kept.push(answer);
      }
      done += ids.length;
      progress.update(`${countOf(done, 'task')} done`);
    }
  } finally {
    progress.end();
  }
  return { counts, answers: kept };
}

/** How many tasks fit, as text for a question: exact up to 10,000. */
export async function countMatches(db: Database, filter: TaskFilter): Promise<string> {
  let count = 0;
  for await (const ids of findIds(db, filter)) {
    count += ids.length;
    if (count >= MOST_COUNTED) return `${withCommas(MOST_COUNTED)} or more tasks`;
  }
  return countOf(count, 'task');
}

const MOST_COUNTED = 10_000;
