import type { Database } from '../lib/database.ts';
import { findIds, findTasks, type TaskFilter } from '../queue/find-tasks.ts';
import { getEnds } from '../queue/get-ends.ts';
import type { Context } from './context.ts';
import { countOf, withCommas } from './count.ts';
import { startProgress } from './progress.ts';
import type { Choice } from './task-filter.ts';
import type { TaskSelection } from './task-selection.ts';

export interface BulkAnswer {
  readonly id: string;
  readonly answer: string;
}

/** How many tasks got which answer, and the answers of those that were named or refused. */
export interface BulkResult<Answer extends BulkAnswer> {
  readonly counts: Readonly<Record<string, number>>;
  readonly answers: readonly Answer[];
}

/** The answer where a filter chose nothing. */
export const NO_TASK_FITS = 'no task fits';

/** At most so many answers are kept of a bulk, for the eye. */
const MAX_KEPT = 1000;

/** Act on the tasks that are meant. */
export function actOnSelection<Answer extends BulkAnswer>(
  context: Context,
  selection: TaskSelection,
  act: (ids: readonly string[]) => Promise<readonly Answer[]>,
  keeps?: (answer: Answer) => boolean,
): Promise<BulkResult<Answer>> {
  return selection.kind === 'ids'
    ? actOnIds(act, selection.ids)
    : actOnMatches(context, selection.filter, act, keeps);
}

/** Act on tasks named by id. */
async function actOnIds<Answer extends BulkAnswer>(
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
async function actOnMatches<Answer extends BulkAnswer>(
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

/**
 * How many tasks a verb for these statuses would act on, as text for a question: exact up to 10,000. Null: it would act
 * on none, and there is nothing to ask.
 */
export async function countSelected(
  db: Database,
  selection: TaskSelection,
  { statuses }: Choice,
  noun = 'task',
): Promise<string | null> {
  if (selection.kind === 'filter') return countMatches(db, selection.filter, noun);
  const named = new Set(selection.ids).size;
  const ends = await getEnds(db, selection.ids);
  const fit = ends.filter(({ status }) => statuses.includes(status)).length;
  if (fit === 0) return null;
  return fit === named ? countOf(fit, noun) : `${countOf(fit, noun)} (of ${withCommas(named)} named)`;
}

/** What is answered where a verb would act on none: nothing is done, and what was named is refused with what it is. */
export async function refuseAll<Refusal extends string>(
  db: Database,
  selection: TaskSelection,
  refusal: Refusal,
): Promise<BulkResult<Refused<Refusal>>> {
  if (selection.kind === 'filter') return { counts: {}, answers: [] };
  const statuses = new Map((await getEnds(db, selection.ids)).map(({ id, status }) => [id, status]));
  const answers = [...new Set(selection.ids)].map((id) => {
    return { id, answer: refusal, status: statuses.get(id) ?? null, held_key: null };
  });
  return { counts: { [refusal]: answers.length }, answers };
}

interface Refused<Refusal extends string> extends BulkAnswer {
  readonly answer: Refusal;
  readonly status: string | null;
  readonly held_key: null;
}

async function countMatches(db: Database, filter: TaskFilter, noun: string): Promise<string | null> {
  let count = 0;
  for await (const ids of findIds(db, filter)) {
    count += ids.length;
    if (count >= MOST_COUNTED) return `${withCommas(MOST_COUNTED)} or more ${noun}s`;
  }
  return count === 0 ? null : countOf(count, noun);
}

/** What a bulk leaves alone: ` (3 put away by hand stay)`; empty where that is nothing. */
export async function sparedByHand(db: Database, selection: TaskSelection): Promise<string> {
  const spared = await countSpared(db, selection);
  return spared === null ? '' : ` (${spared.many} put away by hand ${spared.one ? 'stays' : 'stay'})`;
}

/** The same after the bulk, with what is for them; empty where that is nothing. */
export async function leftOutByHand(db: Database, selection: TaskSelection): Promise<string> {
  const spared = await countSpared(db, selection);
  if (spared === null) return '';
  return `; ${spared.many} put away by hand ${spared.one ? 'was' : 'were'} left out: --by-hand`;
}

async function countSpared(db: Database, selection: TaskSelection) {
  if (selection.kind === 'ids' || selection.filter.by_hand !== false) return null;
  const page = await findTasks(db, { ...selection.filter, by_hand: true }, MOST_SPARED);
  const count = page.tasks.length;
  if (count === 0) return null;
  const many = page.nextAfter === null ? withCommas(count) : `${withCommas(count)} or more`;
  return { many, one: count === 1 };
}

const MOST_SPARED = 1000;

const MOST_COUNTED = 10_000;
