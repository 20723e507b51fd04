import { type StoredChanges, storedChanges } from '../../domain/edit-changes.ts';
import { parsePayload, type StoredPayload } from '../../domain/payload.ts';
import { PRIORITY_NAMES } from '../../domain/priority.ts';
import { countOf } from '../../lib/count.ts';
import { EXIT } from '../../lib/errors.ts';
import { findIds } from '../../queue/inspect/find-tasks.ts';
import { FILTERED } from '../../queue/inspect/task-filter.ts';
import type { BulkResult } from '../../queue/operate/bulk.ts';
import {
  EDIT_PAGE,
  type EditAnswer,
  editNeedsAttention,
  edit as editTasks,
} from '../../queue/operate/edit.ts';
import { payloadCheck } from '../enqueue/fits-schema.ts';
import { tryOut } from '../operations/dry-run.ts';
import { printable } from '../present/printable.ts';
import { RUN_AGAIN, refusedTask } from '../present/refused-task.ts';
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
import { noteWaits, sampled } from '../select/note-waits.ts';
import { filterSuggestions } from '../select/task-filter.ts';

interface Options extends BulkOptions {
  readonly payload?: string;
  readonly delay?: string;
  readonly at?: string;
  readonly toPriority?: string;
  readonly toQueue?: string;
  readonly yes?: true;
}

/** `taskq edit`: change waiting tasks, by id or all that fit. */
export const edit: CliCommand<Options> = {
  suggestions: {
    ...filterSuggestions(FILTERED.edit),
    toPriority: [...'0123456789', ...Object.keys(PRIORITY_NAMES)],
  },
  declare(command) {
    declareVerb(command, 'edit')
      .option('--payload <json>', 'replace the payload')
      .option('--delay <duration>', 'wait this long from now on; 0s: due now')
      .option('--at <time>', 'wait until then, such as 2030-01-31T09:00:00Z')
      .option('--to-priority <0-9>', 'give them this priority')
      .option('--to-queue <queue>', 'move them to this queue')
      .option('--yes', 'do not ask for confirmation')
      .addHelpText(
        'after',
        `
Changes tasks that wait, also for a retry, a slot of their group or their parents; nothing else about them changes. A
task that a worker has claimed stays as it is. A task takes its key along to another queue, unless another task has the
key there. To undo a change: taskq audit --verb edit --json has what was before.`,
      );
  },
  async run(context, call) {
    const { payload: text, yes } = call.options;
    const payload = text === undefined ? undefined : parsePayload('the task', text);
    const changes = changesOf(call.options, payload);
    const asked = await askedOf(context, call, 'edit');
    if (call.options.dryRun) return tryOut(context, asked, 'edit', changes);
    const { db, acting, selection } = asked;
    const check = await payloadCheck(context, payload);
    const edited = sampled(
      async (ids: readonly string[]) => {
        await check(ids);
        return editTasks(db, ids, changes, acting);
      },
      ['edited'],
    );
    if (selection.kind === 'ids') {
      const result = await actOnIds(selection.ids, edited.act);
      await answer(context, result, ({ counts }) => textOf(counts.edited, ''));
      await noteWaits(context, edited, 'due');
      return result.answers.every((task) => task.answer === 'edited') ? EXIT.done : EXIT.failed;
    }
    const { filter, limit } = selection;
    const result = (await isMeant(context, asked, { isSure: yes, ask: (which) => `change ${which}` }))
      ? await actOnPages(
          context,
          findIds(db, filter, { limit, pageSize: EDIT_PAGE }),
          edited.act,
          editNeedsAttention,
        )
      : NONE;
    await answer(context, result, ({ counts }) => textOf(counts.edited, NO_TASK_MATCHES));
    await noteIfNothing(context, asked, result);
    await noteWaits(context, edited, 'due');
    return result.answers.length === 0 ? EXIT.done : EXIT.failed;
  },
};

const NONE: BulkResult<EditAnswer> = { counts: {}, answers: [] };

const FLAGS: Readonly<Record<string, string>> = { priority: '--to-priority', queue: '--to-queue' };

function changesOf(
  { delay, at, toPriority, toQueue }: Options,
  payload: StoredPayload | undefined,
): StoredChanges {
  const changes = {
    ...(delay !== undefined && { delay }),
    ...(at !== undefined && { at }),
    ...(toPriority !== undefined && { priority: toPriority }),
    ...(toQueue !== undefined && { queue: toQueue }),
  };
  return storedChanges(changes, payload, (name) => FLAGS[name] ?? `--${name}`);
}

function textOf(edited: number | undefined, otherwise: string): string {
  return edited === undefined ? otherwise : `changed ${countOf(edited, 'task')}`;
}

async function noteIfNothing(context: Context, asked: Asked, { counts }: BulkResult<EditAnswer>) {
  if (Object.keys(counts).length === 0) await noteNothing(context, asked);
}

async function answer(
  { output }: Context,
  result: BulkResult<EditAnswer>,
  write: (result: BulkResult<EditAnswer>) => string,
): Promise<void> {
  const { edited = 0, busy = 0, key_held = 0, refused = 0, not_waiting = 0 } = result.counts;
  const tasks = result.answers;
  await output.answer({ edited, busy, key_held, refused, not_waiting, tasks }, () => write(result));
  if (output.format === 'json') return;
  for (const task of tasks) {
    const complaint = complaintOf(task);
    if (complaint !== null) output.complain(complaint);
  }
}

function complaintOf({ id, answer, key, holder, status, problem }: EditAnswer): string | null {
  const notChanged = `taskq: task ${id} was not changed`;
  switch (answer) {
    case 'edited':
      return null;
    case 'busy':
      return `${notChanged}: another transaction keeps it locked — try again`;
    case 'key_held':
      return `${notChanged}: task ${holder} holds its key ${printable(JSON.stringify(key))} in that queue`;
    case 'refused':
      return `${notChanged}: ${problem}`;
    case 'not_waiting':
      return refusedTask(id, status, {
        live: 'only waiting tasks can be edited',
        finished: RUN_AGAIN,
        dead: 'revive it: taskq dead revive <id> --payload <json>',
      });
    default:
      return answer satisfies never;
  }
}
