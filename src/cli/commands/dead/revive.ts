import { parseMaxAttempts } from '../../../domain/enqueue-options.ts';
import { parseDuration } from '../../../lib/duration.ts';
import { EXIT } from '../../../lib/errors.ts';
import { type ReviveAnswer, type ReviveOptions, revive } from '../../../queue/revive.ts';
import { actOnIds, actOnMatches, type BulkResult } from '../../bulk.ts';
import type { CliCommand } from '../../command.ts';
import { countOf } from '../../count.ts';
import {
  type DeadSelection,
  type DeadSelectionOptions,
  deadSelection,
  declareDeadSelection,
} from '../../dead-selection.ts';
import { parsePayload } from '../../payload.ts';
import { printable } from '../../printable.ts';
import { refusedTask } from '../../refused-task.ts';

interface Options extends DeadSelectionOptions {
  readonly payload?: string;
  readonly delay?: string;
  readonly maxAttempts?: string;
}

/** `taskq dead revive`: the same id and history, all attempts anew. */
export const reviveDead: CliCommand<Options> = {
  suggestions: { maxAttempts: ['unlimited'] },
  declare(command) {
    declareDeadSelection(command)
      .option('--payload <json>', 'another payload')
      .option('--delay <duration>', 'not before so long from now')
      .option('--max-attempts <n|unlimited>', 'attempts from now on');
  },
  async run(context, { args, options }) {
    const selection = deadSelection(args, options);
    const told = reviveOptions(options);
    const db = await context.database();
    const act = (ids: readonly string[]) => revive(db, ids, told);
    const result =
      selection.kind === 'ids'
        ? await actOnIds(act, selection.ids)
        : await actOnMatches(context, selection.filter, act, ({ answer }) => answer === 'key_held');
    await context.output.answer(documentOf(result, selection), () => textOf(result, selection));
    if (context.output.format === 'text')
      for (const line of refusedLines(result, selection)) context.output.complain(line);
    return refusals(result, selection) === 0 ? EXIT.done : EXIT.failed;
  },
};

function reviveOptions({ payload, delay, maxAttempts }: Options): ReviveOptions {
  return {
    ...(payload !== undefined && { payload: parsePayload(payload, '--payload').text }),
    ...(delay !== undefined && { delayMs: parseDuration(delay, '--delay') }),
    ...(maxAttempts !== undefined && { maxAttempts: parseMaxAttempts(maxAttempts, '--max-attempts') }),
  };
}

/** One that somebody else revived meanwhile is none, unless it was named. */
function refusals({ counts }: BulkResult<ReviveAnswer>, selection: DeadSelection): number {
  return (counts.key_held ?? 0) + (selection.kind === 'ids' ? (counts.not_dead ?? 0) : 0);
}

function documentOf({ counts, answers }: BulkResult<ReviveAnswer>, selection: DeadSelection): object {
  const { revived = 0, key_held = 0, not_dead = 0 } = counts;
  const tasks = selection.kind === 'ids' ? answers : answers.filter(({ answer }) => answer === 'key_held');
  return { revived, key_held, not_dead, tasks };
}

function textOf({ counts, answers }: BulkResult<ReviveAnswer>, selection: DeadSelection): string {
  if (selection.kind === 'filter') return `revived ${countOf(counts.revived ?? 0, 'task')}`;
  return answers
    .filter(({ answer }) => answer === 'revived')
    .map(({ id }) => `${id} revived`)
    .join('\n');
}

function refusedLines({ answers }: BulkResult<ReviveAnswer>, selection: DeadSelection): string[] {
  return answers.flatMap(({ id, answer, key, holder, status }) => {
    if (answer === 'key_held') {
      const by = holder === null ? 'another task' : `task ${holder}`;
      return [`taskq: task ${id} stays dead: ${by} holds its key ${printable(JSON.stringify(key))}`];
    }
    return answer === 'not_dead' && selection.kind === 'ids'
      ? [refusedTask(id, status, { waiting: 'retry it: taskq retry <id>' })]
      : [];
  });
}
