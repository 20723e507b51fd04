import { PartlyEnqueuedError } from '../../domain/errors.ts';
import { countOf, withCommas } from '../../lib/count.ts';
import { TaskqError } from '../../lib/errors.ts';
import { prefetchOne } from '../../lib/prefetch-one.ts';
import { type EnqueuedMany, sendBulks } from '../../queue/protocol/send-bulks.ts';
import { startProgress } from '../present/progress.ts';
import type { Context } from '../run/context.ts';
import type { Spool } from './spool.ts';

/** A task that could not replace the holder of its key, which has another type or group. */
export interface RefusedLine {
  readonly line: number;
  readonly holder: string;
  readonly type: string;
  /** The group of the holder; null: none. */
  readonly group: string | null;
}

export interface InsertListener {
  onRefused(refusal: RefusedLine): void;
  /** Called for each bulk that created tasks, with the first and the last of their ids. */
  onCreated(ends: readonly [first: string, last: string]): void;
}

/**
 * Enqueue the spooled tasks, a transaction per bulk. A failure or a signal midway throws TaskqError, which reports how
 * many are enqueued and where the rest begins.
 */
export async function insertSpooled(
  context: Context,
  spool: Spool,
  { onRefused, onCreated }: InsertListener,
): Promise<EnqueuedMany> {
  const db = await context.database();
  context.catchSignals();
  const progress = await startProgress(context.output, 'enqueueing');
  const all = countOf(spool.count, 'task');
  try {
    // The server stores one bulk while we read the next.
    return await sendBulks(db, prefetchOne(spool.bulks()), {
      commits: 'each bulk',
      explain: (error) =>
        context.signal.aborted && error === context.signal.reason
          ? interrupted(error)
          : context.explain(error),
      signal: context.signal,
      onSent: (sent) => progress.update(`enqueued ${withCommas(sent)} of ${all}`),
      onRefused: ({ place, ...holder }) => onRefused({ line: spool.lineOf(place - 1), ...holder }),
      onCreated,
    });
  } catch (error) {
    throw error instanceof PartlyEnqueuedError ? withRest(error, spool) : error;
  } finally {
    progress.end();
  }
}

/** How our functions begin the refusal of one task, with its place in the bulk. */
const ONE_REFUSED = /^task (\d+)(?= cannot be enqueued)/;

/** Add where the rest begins, and which line the server refused. A bug stays as it is. */
function withRest(error: PartlyEnqueuedError, spool: Spool): unknown {
  if (!(error.cause instanceof TaskqError)) return error.cause;
  const place = ONE_REFUSED.exec(error.message)?.[1];
  const refused = place === undefined ? null : spool.lineOf(error.enqueued + Number(place) - 1);
  const hints = [
    `the rest starts at line ${spool.lineOf(error.enqueued)}`,
    ...(refused === null ? [] : [`correct or remove line ${refused} first, which fails again`]),
    ...(error.hint === undefined ? [] : [error.hint]),
  ];
  return new TaskqError(error.code, error.message.replace(ONE_REFUSED, `the task of line ${refused}`), {
    hint: hints.join('; '),
    cause: error.cause,
  });
}

function interrupted(signal: unknown): TaskqError {
  return new TaskqError('interrupted', `interrupted by ${signal}`);
}
