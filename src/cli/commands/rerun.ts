import { parseDuration } from '../../lib/duration.ts';
import { EXIT } from '../../lib/errors.ts';
import { type RerunAnswer, rerun as rerunTasks } from '../../queue/rerun.ts';
import { showTask } from '../../queue/show-task.ts';
import type { CliCommand } from '../command.ts';
import type { Context } from '../context.ts';
import { fitsSchema } from '../fits-schema.ts';
import { type ActingOptions, actingOf, declareActing } from '../operator.ts';
import { parsePayload } from '../payload.ts';
import { printable } from '../printable.ts';
import { refusedTask } from '../refused-task.ts';
import { parseId } from '../task-filter.ts';
import { FINISHED_TASKS } from '../task-selection.ts';

interface RerunOptions extends ActingOptions {
  readonly payload?: string;
  readonly delay?: string;
}

/** `taskq rerun`: finished tasks once more, as new ones. */
export const rerun: CliCommand<RerunOptions> = {
  declare(command) {
    declareActing(command.argument('<ids...>', 'the numbers of the tasks'))
      .option('--payload <json>', 'another payload')
      .option('--delay <duration>', 'wait this long first')
      .addHelpText(
        'after',
        `
Each becomes a new task with the payload and the options that the finished one had; its source says of which. A key that
another task has by now is not taken from it, and one that the finished task holds for a period (--key-for) is still
held. Dead letters come back by taskq dead revive.`,
      );
  },
  async run(context, { args, options }) {
    const ids = [...new Set(args.map((id) => parseId(id)))];
    const told = {
      ...(options.payload !== undefined && { payload: parsePayload(options.payload, '--payload').text }),
      ...(options.delay !== undefined && { delayMs: parseDuration(options.delay, '--delay') }),
      by: await actingOf(options),
    };
    const db = await context.database();
    await checkPayloads(context, ids, options.payload);
    const answers = await rerunTasks(db, ids, told);
    const tasks = answers.map(({ newId, ...answer }) => ({ ...answer, new_id: newId }));
    await context.output.answer({ tasks }, () =>
      answers.flatMap(({ id, newId }) => (newId === null ? [] : `${id} runs again as ${newId}`)).join('\n'),
    );
    const refused = answers.filter(({ answer }) => answer !== 'enqueued');
    if (context.output.format === 'text') for (const answer of refused) complain(context, answer);
    return refused.length === 0 ? EXIT.done : EXIT.failed;
  },
};

/** As when they are enqueued: what a handler's schema takes may have changed since. */
async function checkPayloads(context: Context, ids: readonly string[], payload: string | undefined) {
  const check = await fitsSchema(context);
  const db = await context.database();
  for (const id of ids) {
    const task = await showTask(db, id);
    if (task === undefined || !FINISHED_TASKS.statuses.some((status) => status === task.status)) continue;
    await check(task.type, payload === undefined ? task.payload : parsePayload(payload).value);
  }
}

function complain({ output }: Context, { id, answer, key, holder, status }: RerunAnswer): void {
  if (answer === 'key_held') {
    const by = holder === id ? 'it holds' : `task ${holder} holds`;
    output.complain(`taskq: task ${id} does not run again: ${by} the key ${printable(JSON.stringify(key))}`);
    return;
  }
  output.complain(
    refusedTask(id, status, {
      waiting: 'run it now: taskq retry <id>',
      dead: 'revive it: taskq dead revive <id>',
    }),
  );
}
