import { parseMaxAttempts } from '../../../domain/enqueue-options.ts';
import { parsePayload, type StoredPayload } from '../../../domain/payload.ts';
import { countOf } from '../../../lib/count.ts';
import { parseDuration } from '../../../lib/duration.ts';
import { EXIT } from '../../../lib/errors.ts';
import { FILTERED } from '../../../queue/inspect/task-filter.ts';
import type { BulkResult } from '../../../queue/operate/bulk.ts';
import { type ReviveAnswer, type ReviveOptions, revive } from '../../../queue/operate/revive.ts';
import { payloadCheck } from '../../enqueue/fits-schema.ts';
import { declareStaged, isStaged, reviveStaged, type StagedOptions } from '../../operations/staged-revive.ts';
import { printable } from '../../present/printable.ts';
import { RUN_AGAIN, refusedTask } from '../../present/refused-task.ts';
import type { CliCommand } from '../../run/command.ts';
import {
  actOnSelection,
  askedOf,
  type BulkOptions,
  byHandOf,
  declareVerb,
  leftOutByHand,
  noteNothing,
} from '../../select/bulk.ts';
import { NO_TASK_MATCHES } from '../../select/misspelt.ts';
import { noteWaits, sampled } from '../../select/note-waits.ts';
import { filterSuggestions } from '../../select/task-filter.ts';
import type { TaskSelection } from '../../select/task-selection.ts';

interface Options extends BulkOptions, StagedOptions {
  readonly payload?: string;
  readonly delay?: string;
  readonly maxAttempts?: string;
}

/** `taskq dead revive`: the same id and history, with all attempts again. */
export const reviveDead: CliCommand<Options> = {
  suggestions: { ...filterSuggestions(FILTERED['dead revive']), maxAttempts: ['unlimited'] },
  declare(command) {
    declareStaged(declareVerb(command, 'dead revive'))
      .option('--payload <json>', 'replace the payload')
      .option('--delay <duration>', 'wait this long first')
      .option('--max-attempts <n|unlimited>', 'number of attempts from now on')
      .addHelpText('after', STAGED);
  },
  async run(context, call) {
    const { payload: text } = call.options;
    const payload = text === undefined ? undefined : parsePayload('the task', text);
    const given = reviveOptions(call.options, payload);
    const asked = await askedOf(context, call, 'dead revive');
    const { db, acting, selection } = asked;
    if (isStaged(call.options)) return reviveStaged(context, asked, call.options, given);
    const settings = { ...given, byHand: byHandOf(asked), ...acting };
    const check = await payloadCheck(context, payload);
    const revived = sampled(
      async (ids: readonly string[]) => {
        await check(ids);
        return revive(db, ids, settings);
      },
      ['revived'],
    );
    const result = await actOnSelection(context, asked, revived.act, needsAttention);
    const left = await leftOutByHand(asked);
    await context.output.answer(documentOf(result, selection), () => `${textOf(result, selection)}${left}`);
    if (result.counts.revived === undefined) await noteNothing(context, asked);
    await noteWaits(context, revived, 'due');
    if (context.output.format === 'text')
      for (const line of refusedLines(result, selection)) context.output.complain(line);
    return refusals(result, selection) === 0 ? EXIT.done : EXIT.failed;
  },
};

const STAGED = `
With --canary, --rate, --stop-at, --patch or --expect it is an operation: workers continue it if this command ends
(Ctrl-C, --detach), and taskq operations lists, shows and stops it. The exit code is then that of taskq operations wait.`;

function reviveOptions({ delay, maxAttempts }: Options, payload: StoredPayload | undefined): ReviveOptions {
  return {
    ...(payload !== undefined && { payload: payload.text }),
    ...(delay !== undefined && { delayMs: parseDuration(delay, '--delay') }),
    ...(maxAttempts !== undefined && { maxAttempts: parseMaxAttempts(maxAttempts, '--max-attempts') }),
  };
}

/** Count the refusals. A task that another session revived meanwhile is one only if it was named. */
function refusals({ counts }: BulkResult<ReviveAnswer>, selection: TaskSelection): number {
  return (
    (counts.key_held ?? 0) + (counts.refused ?? 0) + (selection.kind === 'ids' ? (counts.not_dead ?? 0) : 0)
  );
}

function needsAttention({ answer }: ReviveAnswer): boolean {
  return answer === 'key_held' || answer === 'refused';
}

function documentOf({ counts, answers }: BulkResult<ReviveAnswer>, selection: TaskSelection): object {
  const { revived = 0, key_held = 0, not_dead = 0, refused = 0 } = counts;
  const tasks = selection.kind === 'ids' ? answers : answers.filter(needsAttention);
  return { revived, key_held, not_dead, refused, tasks };
}

function textOf({ counts }: BulkResult<ReviveAnswer>, selection: TaskSelection): string {
  const { revived = 0, key_held = 0, refused = 0 } = counts;
  if (selection.kind === 'ids' && revived === 0) return '';
  return revived + key_held + refused === 0 ? NO_TASK_MATCHES : `revived ${countOf(revived, 'task')}`;
}

function refusedLines({ answers }: BulkResult<ReviveAnswer>, selection: TaskSelection): string[] {
  return answers.flatMap(({ id, answer, key, holder, status, problem }) => {
    if (answer === 'key_held') {
      const by = holder === null ? 'another task' : `task ${holder}`;
      return [`taskq: task ${id} was not revived: ${by} holds its key ${printable(JSON.stringify(key))}`];
    }
    if (answer === 'refused') return [`taskq: task ${id} was not revived: ${problem}`];
    return answer === 'not_dead' && selection.kind === 'ids'
      ? [refusedTask(id, status, { waiting: 'retry it: taskq retry <id>', finished: RUN_AGAIN })]
      : [];
  });
}
