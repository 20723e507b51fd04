import { WaitDeadlineError } from '../../domain/errors.ts';
import { whyNotStored } from '../../domain/why-not-stored.ts';
import { EXIT, TaskqError } from '../../lib/errors.ts';
import { stringifyExact } from '../../lib/exact-json.ts';
import type { Waited } from '../../queue/protocol/end-waiter.ts';
import type { Enqueued } from '../../queue/protocol/enqueue.ts';
import type { EndRow } from '../../queue/protocol/get-ends.ts';
import { printable } from '../present/printable.ts';
import type { Context } from '../run/context.ts';
import type { Screen } from '../run/output.ts';

/**
 * Print how the awaited task ended: its result on stdout; on stderr its failure, or why its result could not be stored.
 * Returns 0 or 1.
 */
export async function reportEnd(
  context: Context,
  { id, created, answer }: Enqueued,
  waited: Waited,
): Promise<number> {
  if (waited.kind === 'deadline') {
    throw new WaitDeadlineError(id, 'task', { hint: `see taskq show ${id}` });
  }
  if (waited.kind === 'gone') {
    throw new TaskqError('no_such_task', `task ${id} has ended, and its retention kept no record of it`);
  }
  const { status, result, result_note, reason, error } = waited.end;
  const document = { id, created, answer, status, result, result_note, reason, error };
  await context.output.answer(document, (screen) => resultText(waited.end, screen));
  return concludeEnd(context, waited.end);
}

/**
 * Print how a followed task ended, as `reportEnd` does; with --json on one line, like the events before. Returns 0 or
 * 1.
 */
export async function reportFollowedEnd(context: Context, end: EndRow): Promise<number> {
  const { id, status, result, result_note, reason, error } = end;
  const document = { event: 'end', id, status, result, result_note, reason, error };
  if (context.output.format === 'json') context.output.data(stringifyExact(document));
  else await context.output.answer(document, (screen) => resultText(end, screen));
  return concludeEnd(context, end);
}

function resultText({ status, result }: EndRow, { columns }: Screen): string {
  return status === 'completed' ? stringifyExact(result, columns === null ? 0 : 2) : '';
}

/** Print on stderr why there is no result, or why it could not be stored. Returns 0 or 1. */
function concludeEnd({ output }: Context, end: EndRow): number {
  const isCompleted = end.status === 'completed';
  if (output.format === 'text') {
    if (!isCompleted) output.complain(`taskq: ${failureOf(end)}`);
    else if (end.result_note !== null) output.complain(`taskq: ${lossOf(end)}`);
  }
  return isCompleted ? EXIT.done : EXIT.failed;
}

function failureOf({ id, status, reason, error }: EndRow): string {
  const why = reason === null ? '' : `: ${reason}`;
  const what = error === null ? '' : ` (${String(error.name)}: ${String(error.message)})`;
  const outcome = STATUS_TEXTS[status] ?? `is ${status}`;
  return printable(`task ${id} ${outcome}${why}${what} — see taskq show ${id}`);
}

function lossOf({ id, result_note }: EndRow): string {
  return printable(
    `task ${id} has completed, but its result is not stored: ${whyNotStored(result_note!)} — see taskq show ${id}`,
  );
}

const STATUS_TEXTS: Readonly<Record<string, string>> = {
  dead: 'is dead',
  cancelled: 'was cancelled',
  expired: 'expired before it started',
};
