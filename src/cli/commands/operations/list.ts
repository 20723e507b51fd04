import { checkedOperationState, OPERATION_STATES } from '../../../domain/operation.ts';
import { checkedOperationId } from '../../../domain/task-id.ts';
import { listOperations } from '../../../queue/inspect/list-operations.ts';
import type { CliCommand } from '../../run/command.ts';
import { declarePage, parseLimit } from '../../select/task-filter.ts';

interface ListOptions {
  readonly state?: string;
  readonly limit: string;
  readonly after?: string;
}

/** `taskq operations list`: a page of operations, newest first. */
export const operationsList: CliCommand<ListOptions> = {
  suggestions: { state: OPERATION_STATES },
  declare(command) {
    command.option('--state <state>', `only these: ${OPERATION_STATES.join(', ')}`);
    declarePage(command).addHelpText('after', COLUMNS);
  },
  async run(context, { options }) {
    const state = options.state === undefined ? undefined : checkedOperationState(options.state, '--state');
    const limit = parseLimit(options.limit);
    const after = options.after === undefined ? null : checkedOperationId(options.after, '--after');
    const operations = await listOperations(await context.database(), { state, limit, after });
    const next = operations.length < limit ? null : operations.at(-1)!.id;
    await context.output.answer({ operations, next_after: next }, async (screen) => {
      const { formatOperations } = await import('../../present/format-operation.ts');
      return formatOperations(operations, screen);
    });
    if (context.output.format === 'json') return;
    if (operations.length === 0)
      context.output.talk(state === undefined ? 'there is no operation' : `no operation is ${state}`);
    else if (next !== null) context.output.talk(`there may be more: --after ${next}`);
  },
};

const COLUMNS = `
States:
  running    workers carry it out
  canary     it revives the first tasks, and waits until these have ended
  completed  it has acted on every task
  stopped    someone stopped it, or too many of the revived tasks died again
  failed     it cannot go on

Columns:
  DONE    of the tasks that matched at the start; + means or more
  FAILED  the verb was refused: taskq operations show lists them
  DIED    revived tasks that died again; - without --stop-at and --canary`;
