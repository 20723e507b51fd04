import { isServerError } from '../../lib/database.ts';
import { EXIT, TaskqError } from '../../lib/errors.ts';
import { oneAhead } from '../../lib/one-ahead.ts';
import { type Bulk, bulkOf, enqueueCounted } from '../../queue/enqueue.ts';
import type { Context } from '../context.ts';
import { withCommas } from '../count.ts';
import { startProgress } from '../progress.ts';
import type { Spool } from './spool.ts';

export interface Inserted {
  readonly created: number;
  /** Their key was held. */
  readonly existing: number;
}

/** A transaction has so many tasks, or fewer where they are large. */
const BATCH = 10_000;
const BATCH_LENGTH = 2 * 1024 * 1024;

/**
 * Enqueue what is spooled, a transaction per batch. A failure or a signal in the middle throws TaskqError, which says
 * how many are in and where the rest begins.
 */
export async function insertSpooled(context: Context, spool: Spool): Promise<Inserted> {
  const db = await context.database();
  context.catchSignals();
  const progress = await startProgress(context.output, 'enqueueing');
  const all = withCommas(spool.count);
  let [done, created] = [0, 0];
  try {
    // The server stores one batch while the next is read.
    for await (const batch of oneAhead(batchesOf(spool))) {
      if (context.signal.aborted) throw interrupted(context, done, batch, all);
      try {
        created += await enqueueCounted(db, batch.bulk);
      } catch (error) {
        throw inTheMiddle(context.explain(error), isServerError(error), { done, batch, all });
      }
      done += batch.bulk.count;
      progress.update(`enqueued ${withCommas(done)} of ${all} tasks`);
    }
  } finally {
    progress.end();
  }
  return { created, existing: done - created };
}

interface Batch {
  readonly bulk: Bulk;
  /** Where it begins in the input. */
  readonly line: number;
}

async function* batchesOf(spool: Spool): AsyncGenerator<Batch> {
  for await (const tasks of spool.batches(BATCH, BATCH_LENGTH)) {
    // Their types were looked up when they were read.
    yield { bulk: bulkOf(tasks, true), line: tasks[0]!.line };
  }
}

interface Middle {
  readonly done: number;
  readonly batch: Batch;
  readonly all: string;
}

/** Unless the server itself refused, nobody knows whether it has stored the batch. */
function inTheMiddle(error: unknown, wasRefused: boolean, { done, batch, all }: Middle): unknown {
  if (!(error instanceof TaskqError)) return error;
  const doubt = wasRefused ? '' : `, the next ${withCommas(batch.bulk.count)} may be`;
  return new TaskqError(
    error.code,
    `${error.message}; ${withCommas(done)} of ${all} tasks are enqueued${doubt}`,
    {
      exitCode: error.exitCode,
      hint: `the rest begins at line ${batch.line}${error.hint === undefined ? '' : `; ${error.hint}`}`,
      cause: error,
    },
  );
}

function interrupted(context: Context, done: number, batch: Batch, all: string): TaskqError {
  return new TaskqError(
    'interrupted',
    `interrupted by ${context.signal.reason}: ${withCommas(done)} of ${all} tasks are enqueued`,
    {
      exitCode: EXIT.failed,
      hint: `the rest begins at line ${batch.line}`,
    },
  );
}
