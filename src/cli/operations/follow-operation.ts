import type { Queryable } from '../../lib/database.ts';
import { EXIT } from '../../lib/errors.ts';
import { pause } from '../../lib/pause.ts';
import { goesOn, type ListedOperation, showOperation } from '../../queue/inspect/list-operations.ts';
import { advanceOperations } from '../../queue/protocol/advance-operations.ts';
import { failureLines, progressText } from '../present/format-operation.ts';
import { printable } from '../present/printable.ts';
import { type Progress, startProgress } from '../present/progress.ts';
import type { Context } from '../run/context.ts';
import { firstOf, noteWaits } from '../select/note-waits.ts';
import { noSuchOperation } from './no-such-operation.ts';

/** The longest pause between two looks. */
const LOOK_MS = 1000;
/** The shortest pause, so that an operation without a rate leaves time for other work. */
const REST_MS = 20;

/**
 * Advance an operation until it has ended, and show its progress. A signal ends only the display: workers continue the
 * operation. Returns the exit code: 0 if it has completed and no task failed.
 */
export async function followOperation(context: Context, id: string): Promise<number> {
  const db = await context.database();
  context.catchSignals();
  const progress = await startProgress(context.output, `operation ${id}`);
  let operation: ListedOperation;
  try {
    operation = await lastOf(context, db, id, progress);
  } finally {
    progress.end();
  }
  await context.output.answer(
    operation,
    () => `operation ${id} ${operation.state}: ${progressText(operation)}`,
  );
  if (context.output.format === 'text') complain(context, operation);
  return operation.state === 'completed' && operation.failed === 0 ? EXIT.done : EXIT.failed;
}

/** Returns the operation at its end, or when a signal comes. */
async function lastOf(
  context: Context,
  db: Queryable,
  id: string,
  progress: Progress,
): Promise<ListedOperation> {
  const { signal } = context;
  for (let isNoted = false; ; ) {
    const operation = await showOperation(db, id);
    if (operation === undefined) throw noSuchOperation(id);
    progress.update(`operation ${id}: ${progressText(operation)}`);
    const waiting = operation.waits_for ?? [];
    // Once, as soon as the canary is complete.
    if (!isNoted && operation.done === operation.canary && waiting.length > 0) {
      isNoted = true;
      await progress.aside(() => noteWaits(context, firstOf(waiting), 'awaited'));
    }
    if (!goesOn(operation) || signal.aborted) return operation;
    const { nextMs } = await advanceOperations(db);
    const pauseMs = Math.min(Math.max(nextMs ?? 0, REST_MS), LOOK_MS);
    await pause(pauseMs, signal);
  }
}

function complain({ output }: Context, operation: ListedOperation): void {
  const { id, stopped_because: because } = operation;
  if (goesOn(operation)) {
    output.talk(
      `operation ${id} continues: follow it with taskq operations wait ${id}, stop it with taskq operations stop ${id}`,
    );
    return;
  }
  if (because !== null) output.complain(printable(`taskq: operation ${id} ${operation.state}: ${because}`));
  for (const line of failureLines(operation)) output.complain(`taskq: ${line}`);
}
