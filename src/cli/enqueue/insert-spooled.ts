import { isUndone } from '../../lib/database.ts';
import { EXIT, TaskqError } from '../../lib/errors.ts';
import { prefetchOne } from '../../lib/prefetch-one.ts';
import { enqueueCounted } from '../../queue/protocol/enqueue.ts';
import { withCommas } from '../present/count.ts';
import { startProgress } from '../present/progress.ts';
import type { Context } from '../run/context.ts';
import type { Spool, SpooledBulk } from './spool.ts';

export interface Inserted {
  readonly created: number;
  /** The number of tasks whose key was held. */
  readonly existing: number;
}

/**
 * Enqueue the spooled tasks, a transaction per batch. A failure or a signal midway throws TaskqError, which says how
 * many are in and where the rest begins.
 */
export async function insertSpooled(context: Context, spool: Spool): Promise<Inserted> {
  const db = await context.database();
  context.catchSignals();
  const progress = await startProgress(context.output, 'enqueueing');
  const all = withCommas(spool.count);
  let [done, created] = [0, 0];
  try {
    // The server stores one batch while we read the next.
    for await (const spooled of prefetchOne(spool.bulks())) {
      if (context.signal.aborted) throw interrupted(context, done, spooled, all);
      try {
        created += await enqueueCounted(db, spooled.bulk);
      } catch (error) {
        throw inTheMiddle(context.explain(error), isUndone(error), { done, spooled, all });
      }
      done += spooled.bulk.count;
      progress.update(`enqueued ${withCommas(done)} of ${all} tasks`);
    }
  } finally {
    progress.end();
  }
  return { created, existing: done - created };
}

interface Middle {
  readonly done: number;
  readonly spooled: SpooledBulk;
  readonly all: string;
}

/** Unless the server itself refused, the batch may or may not have been stored. */
function inTheMiddle(error: unknown, wasRefused: boolean, { done, spooled, all }: Middle): unknown {
  if (!(error instanceof TaskqError)) return error;
  const doubt = wasRefused ? '' : `, the next ${withCommas(spooled.bulk.count)} may be`;
  return new TaskqError(
    error.code,
    `${error.message}; ${withCommas(done)} of ${all} tasks are enqueued${doubt}`,
    {
      exitCode: error.exitCode,
      hint: `the rest starts at line ${spooled.line}${error.hint === undefined ? '' : `; ${error.hint}`}`,
      cause: error,
    },
  );
}

function interrupted(context: Context, done: number, spooled: SpooledBulk, all: string): TaskqError {
  return new TaskqError(
    'interrupted',
    `interrupted by ${context.signal.reason}: ${withCommas(done)} of ${all} tasks are enqueued`,
    {
      exitCode: EXIT.failed,
      hint: `the rest starts at line ${spooled.line}`,
    },
  );
}
