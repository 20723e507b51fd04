import { WaitDeadlineError } from '../../domain/errors.ts';
import { EXIT } from '../../lib/errors.ts';
import {
  getWorkflowEnds,
  WORKFLOW_ENDS,
  type WorkflowEndRow,
} from '../../queue/protocol/get-workflow-ends.ts';
import { countsText } from '../present/format-workflow.ts';
import { printable } from '../present/printable.ts';
import type { Context } from '../run/context.ts';
import { openWaiter } from '../select/wait-for-ends.ts';
import { noSuchWorkflow } from './no-such-workflow.ts';

/**
 * Wait until a workflow has ended, for at most `limitMs`, and print the end: its state on stdout, and on stderr why it
 * has not completed. Returns 0 or 1. Throws TaskqError `wait_deadline` (exit 4) if it has not ended in time.
 */
export async function waitForWorkflow(context: Context, id: string, limitMs: number): Promise<number> {
  const waiter = await openWaiter(context, WORKFLOW_ENDS);
  try {
    const waited = await waiter.wait(id, { timeoutMs: limitMs });
    if (waited.kind === 'gone') throw noSuchWorkflow(id);
    if (waited.kind === 'ended') return await report(context, waited.end);
    const [{ state } = {}] = await getWorkflowEnds(await context.database(), [id]);
    const how =
      state === 'stuck' ? 'has not ended in time: it is stuck' : 'has not ended in time and continues';
    throw new WaitDeadlineError(id, 'workflow', { how, hint: `see taskq workflow show ${id}` });
  } finally {
    await waiter.close(new Error('the wait is over'));
  }
}

async function report({ output }: Context, { id, name, state, steps }: WorkflowEndRow): Promise<number> {
  await output.answer({ id, name, state, steps }, () => state);
  if (state === 'completed') return EXIT.done;
  const counts = countsText(steps ?? {});
  if (output.format === 'text')
    output.complain(
      printable(`taskq: workflow ${id} ${ENDS[state] ?? state} (${counts}) — see taskq workflow show ${id}`),
    );
  return EXIT.failed;
}

const ENDS: Readonly<Record<string, string>> = { failed: 'has failed', cancelled: 'was cancelled' };
