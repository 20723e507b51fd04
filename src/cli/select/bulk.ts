import type { Command } from 'commander';
import { countOf, withCommas } from '../../lib/count.ts';
import type { Database } from '../../lib/database.ts';
import { findIds } from '../../queue/inspect/find-tasks.ts';
import { type BulkVerb, FILTERED } from '../../queue/inspect/task-filter.ts';
import type { ActingOnTasks } from '../../queue/operate/acting.ts';
import { actInPages, type BulkAnswer, type BulkResult } from '../../queue/operate/bulk.ts';
import { getEnds } from '../../queue/protocol/get-ends.ts';
import { startProgress } from '../present/progress.ts';
import type { Call } from '../run/command.ts';
import type { Context } from '../run/context.ts';
import { type ActingOptions, actingOf, declareActing, declareActor } from '../run/operator.ts';
import { confirm } from './confirm.ts';
import { noteMisspelt } from './misspelt.ts';
import {
  declareSelection,
  type SelectionOptions,
  selectionOf,
  type TaskSelection,
} from './task-selection.ts';

export interface BulkOptions extends SelectionOptions, ActingOptions {
  /** Only report which tasks the verb would act on. */
  readonly dryRun?: true;
}

/** A verb that the user requested: for which tasks, and in whose name. */
export interface Asked {
  readonly verb: BulkVerb;
  readonly selection: TaskSelection;
  /** Who acts, and by what filter. */
  readonly acting: ActingOnTasks;
  readonly db: Database;
}

/** Declare the options that all verbs on tasks take. */
export function declareVerb(command: Command, verb: BulkVerb): Command {
  // The reason of a cancellation is shown with the task.
  const declare = verb === 'cancel' ? declareActor : declareActing;
  return declare(declareSelection(command, verb)).option(
    '--dry-run',
    'count the tasks, name the first, and change nothing',
  );
}

/** Read those options. Throws TaskqError (exit 2). */
export async function askedOf(
  context: Context,
  { args, options }: Call<BulkOptions>,
  verb: BulkVerb,
): Promise<Asked> {
  const selection = selectionOf(args, options, verb);
  const filter = selection.kind === 'filter' ? selection.filter : undefined;
  const acting = { ...(await actingOf(options)), filter };
  return { verb, selection, acting, db: await context.database() };
}

/** The value of `--by-hand` for a filter; undefined for named tasks, which are all meant. */
export function byHandOf({ selection }: Asked): boolean | undefined {
  return selection.kind === 'filter' ? selection.filter.by_hand : undefined;
}

/** What the user must confirm. */
export interface Question {
  /** `--yes` */
  readonly isSure: true | undefined;
  /** The noun to count; `task` by default. */
  readonly noun?: string;
  readonly ask: (which: string) => string | Promise<string>;
}

/** Confirm a verb unless `--yes` is given. False: it would act on no task, so there was no question. */
export async function isMeant(
  context: Context,
  asked: Asked,
  { isSure, noun, ask }: Question,
): Promise<boolean> {
  if (isSure) return true;
  const which = await countSelected(asked, noun);
  if (which !== null) await confirm(context, await ask(which));
  return which !== null;
}

/**
 * Act on the selected tasks if the user confirms. Where the verb would act on none, refuse the named ones, each with
 * its status.
 */
export async function actIfMeant<Answer extends BulkAnswer, Refusal extends string>(
  context: Context,
  asked: Asked,
  { refusal, ...question }: Question & { readonly refusal: Refusal },
  act: (ids: readonly string[]) => Promise<readonly Answer[]>,
  keeps?: (answer: Answer) => boolean,
): Promise<BulkResult<Answer | Refused<Refusal>>> {
  return (await isMeant(context, asked, question))
    ? actOnSelection(context, asked, act, keeps)
    : refuseAll(asked, refusal);
}

/** Act on the selected tasks; if a filter selected them, `keeps` chooses the answers to list. */
export function actOnSelection<Answer extends BulkAnswer>(
  context: Context,
  { selection, db }: Asked,
  act: (ids: readonly string[]) => Promise<readonly Answer[]>,
  keeps?: (answer: Answer) => boolean,
): Promise<BulkResult<Answer>> {
  if (selection.kind === 'ids') return actOnIds(selection.ids, act);
  const { filter, limit } = selection;
  return actOnPages(context, findIds(db, filter, { limit }), act, keeps);
}

/** Act on tasks named by id. */
export async function actOnIds<Answer extends BulkAnswer>(
  ids: readonly string[],
  act: (ids: readonly string[]) => Promise<readonly Answer[]>,
): Promise<BulkResult<Answer>> {
  const answers = await act([...new Set(ids)]);
  const counts: Record<string, number> = {};
  for (const { answer } of answers) counts[answer] = (counts[answer] ?? 0) + 1;
  return { counts, answers };
}

/** Act on pages of matching tasks, and show progress. A signal ends it early; what is done stays done. */
export async function actOnPages<Task, Answer extends BulkAnswer>(
  context: Context,
  pages: AsyncIterable<readonly Task[]>,
  act: (page: readonly Task[]) => Promise<readonly Answer[]>,
  keeps?: (answer: Answer) => boolean,
): Promise<BulkResult<Answer>> {
  context.catchSignals();
  const progress = await startProgress(context.output, 'looking for tasks');
  try {
    return await actInPages(pages, act, {
      keeps,
      signal: context.signal,
      onPage: (done) => progress.update(`${countOf(done, 'task')} done`),
    });
  } finally {
    progress.end();
  }
}

/**
 * Count the tasks that a verb would act on, as text for a question: exact up to 10,000. Null: it would act on none, so
 * there is nothing to ask.
 */
async function countSelected({ verb, selection, db }: Asked, noun = 'task'): Promise<string | null> {
  if (selection.kind === 'filter') {
    const { count, isAll } = await countMatches(db, selection);
    if (!isAll) return `${withCommas(count)} or more ${noun}s`;
    return count === 0 ? null : countOf(count, noun);
  }
  const named = new Set(selection.ids).size;
  const statuses: readonly string[] = FILTERED[verb].statuses;
  const ends = await getEnds(db, selection.ids);
  const fit = ends.filter(({ status }) => statuses.includes(status)).length;
  if (fit === 0) return null;
  return fit === named ? countOf(fit, noun) : `${countOf(fit, noun)} (of ${withCommas(named)} named)`;
}

type Filter = Extract<TaskSelection, { readonly kind: 'filter' }>;

async function countMatches(
  db: Database,
  { filter, limit = Number.POSITIVE_INFINITY }: Omit<Filter, 'kind'>,
): Promise<{ readonly count: number; readonly isAll: boolean }> {
  let count = 0;
  for await (const ids of findIds(db, filter, { limit })) {
    count += ids.length;
    if (count >= MOST_COUNTED && limit > MOST_COUNTED) return { count: MOST_COUNTED, isAll: false };
  }
  return { count, isAll: true };
}

async function refuseAll<Refusal extends string>(
  { selection, db }: Asked,
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

/** Where a filter selected nothing, name what may be misspelt in it. */
export async function noteNothing({ output }: Context, { selection, db }: Asked): Promise<void> {
  if (selection.kind === 'ids') return;
  const { reason } = selection.filter;
  if (reason !== undefined && output.format === 'text')
    output.talk(
      '--reason selects tasks by why they died or were cancelled; to record why you act, use --why',
    );
  await noteMisspelt(output, db, selection.filter);
}

/** What a bulk leaves alone: ` (3 added by hand stay)`; empty if nothing. */
export async function sparedByHand(asked: Asked): Promise<string> {
  const spared = await countSpared(asked);
  return spared === null ? '' : ` (${spared.many} added by hand ${spared.one ? 'stays' : 'stay'})`;
}

/** The same after the bulk, with the option that includes them; empty where nothing was left out. */
export async function leftOutByHand(asked: Asked): Promise<string> {
  const spared = await countSpared(asked);
  if (spared === null) return '';
  return `; ${spared.many} added by hand ${spared.one ? 'was' : 'were'} left out: --by-hand`;
}

async function countSpared({ selection, db }: Asked) {
  if (selection.kind === 'ids' || selection.filter.by_hand !== false) return null;
  const filter = { ...selection.filter, by_hand: true };
  const { count, isAll } = await countMatches(db, { filter, limit: undefined });
  if (count === 0) return null;
  return { many: isAll ? withCommas(count) : `${withCommas(count)} or more`, one: count === 1 };
}

const MOST_COUNTED = 10_000;
