import { parsePayload } from '../../domain/payload.ts';
import { countOf } from '../../lib/count.ts';
import { parseDuration } from '../../lib/duration.ts';
import { EXIT } from '../../lib/errors.ts';
import { findPages } from '../../queue/inspect/find-tasks.ts';
import { showTask } from '../../queue/inspect/show-task.ts';
import { FILTERED } from '../../queue/inspect/task-filter.ts';
import type { TaskRow } from '../../queue/inspect/task-row.ts';
import type { BulkResult } from '../../queue/operate/bulk.ts';
import {
  RERUN_PAGE,
  type RerunAnswer,
  type RerunOptions,
  rerunNeedsAttention,
  rerun as rerunTasks,
  rerunValid,
} from '../../queue/operate/rerun.ts';
import { fitsSchema, problemFinder } from '../enqueue/fits-schema.ts';
import { tryOut } from '../operations/dry-run.ts';
import { printable } from '../present/printable.ts';
import { refusedTask } from '../present/refused-task.ts';
import type { CliCommand } from '../run/command.ts';
import type { Context } from '../run/context.ts';
import {
  type Asked,
  actOnIds,
  actOnPages,
  askedOf,
  type BulkOptions,
  declareVerb,
  isMeant,
  noteNothing,
} from '../select/bulk.ts';
import { NO_TASK_MATCHES } from '../select/misspelt.ts';
import { noteWaits, type Sampled, sampled } from '../select/note-waits.ts';
import { filterSuggestions } from '../select/task-filter.ts';
import type { TaskSelection } from '../select/task-selection.ts';

interface Options extends BulkOptions {
  readonly payload?: string;
  readonly delay?: string;
  readonly yes?: true;
}

/** `taskq rerun`: run finished tasks again, as new tasks. */
export const rerun: CliCommand<Options> = {
  suggestions: filterSuggestions(FILTERED.rerun),
  declare(command) {
    declareVerb(command, 'rerun')
      .option('--payload <json>', 'replace the payload')
      .option('--delay <duration>', 'wait this long first')
      .option('--yes', 'do not ask for confirmation')
      .addHelpText(
        'after',
        `
Enqueues a new task with the payload and options of each finished task and records that task as its source. Fails for
a task whose key is held by another task, or still held by the finished one (--key-for). For dead letters, use
taskq dead revive.

With a filter, tasks run again in pages, each in its own transaction: if the command is interrupted, the pages done so far
stay, and a second run repeats them. Tasks whose payload their handler's schema refuses are skipped and named.`,
      );
  },
  async run(context, call) {
    const { payload, delay, yes } = call.options;
    const given = {
      ...(payload !== undefined && { payload: parsePayload('the task', payload).text }),
      ...(delay !== undefined && { delayMs: parseDuration(delay, '--delay') }),
    };
    const asked = await askedOf(context, call, 'rerun');
    if (call.options.dryRun) return tryOut(context, asked, 'rerun');
    const { selection, db, acting } = asked;
    const settings = { ...given, ...acting };
    if (selection.kind === 'ids') {
      await checkPayloads(context, selection.ids, payload);
      const again = sampled(
        (ids: readonly string[]) => rerunTasks(db, ids, settings),
        ['enqueued'],
        ({ newId }) => newId,
      );
      const result = await actOnIds(selection.ids, again.act);
      await answer(context, result, ({ answers }) =>
        answers.flatMap(({ id, newId }) => (newId === null ? [] : `${id} runs again as ${newId}`)).join('\n'),
      );
      await noteWaits(context, again, 'due');
      return result.answers.every((task) => task.answer === 'enqueued') ? EXIT.done : EXIT.failed;
    }
    const again = (await isMeant(context, asked, { isSure: yes, noun: 'finished task', ask: runAgain }))
      ? await rerunIn(context, asked, { settings, payload })
      : undefined;
    const result = again === undefined ? NONE : await rerunMatches(context, asked, selection, again.act);
    await answer(context, result, ({ counts }) =>
      counts.enqueued === undefined ? NO_TASK_MATCHES : `${countOf(counts.enqueued, 'task')} enqueued again`,
    );
    if (result.counts.enqueued === undefined) await noteNothing(context, asked);
    if (again !== undefined) await noteWaits(context, again, 'due');
    return result.answers.length === 0 ? EXIT.done : EXIT.failed;
  },
};

const NONE: BulkResult<RerunAnswer> = { counts: {}, answers: [] };

function runAgain(which: string): string {
  return `run ${which} again`;
}

/** Check payloads as enqueue does: the handler's schema may have changed since. */
async function checkPayloads(context: Context, ids: readonly string[], payload: string | undefined) {
  const check = await fitsSchema(context);
  const db = await context.database();
  for (const id of new Set(ids)) {
    const task = await showTask(db, id);
    if (task === undefined || !FILTERED.rerun.statuses.some((status) => status === task.status)) continue;
    await check(task.type, payload === undefined ? task.payload : parsePayload('the task', payload).value);
  }
}

/** Rerun a page of found tasks: those whose payload their handler's schema accepts. */
async function rerunIn(
  context: Context,
  { db }: Asked,
  { settings, payload }: { readonly settings: RerunOptions; readonly payload: string | undefined },
): Promise<Sampled<TaskRow, RerunAnswer>> {
  const find = await problemFinder(context);
  const problemOf = (task: TaskRow) =>
    find(task.type, payload === undefined ? task.payload : parsePayload('the task', payload).value);
  const act = (tasks: readonly TaskRow[]) => rerunValid(db, tasks, settings, problemOf);
  return sampled(act, ['enqueued'], ({ newId }) => newId);
}

function rerunMatches(
  context: Context,
  { db }: Asked,
  { filter, limit }: Extract<TaskSelection, { readonly kind: 'filter' }>,
  act: (tasks: readonly TaskRow[]) => Promise<readonly RerunAnswer[]>,
): Promise<BulkResult<RerunAnswer>> {
  const pages = findPages(db, filter, { limit, pageSize: RERUN_PAGE });
  return actOnPages(context, pages, act, rerunNeedsAttention);
}

async function answer(
  { output }: Context,
  result: BulkResult<RerunAnswer>,
  write: (result: BulkResult<RerunAnswer>) => string,
): Promise<void> {
  const { enqueued = 0, key_held = 0, invalid_payload = 0, not_finished = 0, refused = 0 } = result.counts;
  const tasks = result.answers.map(({ newId, ...task }) => ({ ...task, new_id: newId }));
  await output.answer({ enqueued, key_held, invalid_payload, not_finished, refused, tasks }, () =>
    write(result),
  );
  if (output.format === 'json') return;
  for (const task of result.answers) {
    const complaint = complaintOf(task);
    if (complaint !== null) output.complain(complaint);
  }
}

function complaintOf({ id, answer, key, holder, status, problem }: RerunAnswer): string | null {
  const notAgain = `taskq: task ${id} was not run again`;
  switch (answer) {
    case 'enqueued':
      return null;
    case 'key_held': {
      const by = holder === id ? 'it holds' : `task ${holder} holds`;
      return `${notAgain}: ${by} the key ${printable(JSON.stringify(key))}`;
    }
    case 'invalid_payload':
      return `${notAgain}: its payload does not fit its type: ${problem}`;
    case 'refused':
      return `${notAgain}: ${problem}`;
    case 'not_finished': {
      const advice = { waiting: 'run it now: taskq retry <id>', dead: 'revive it: taskq dead revive <id>' };
      return refusedTask(id, status, advice);
    }
    default:
      return answer satisfies never;
  }
}
