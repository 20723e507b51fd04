import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '../../lib/connect.ts';
import { isServerError } from '../../lib/database.ts';
import { TaskqError } from '../../lib/errors.ts';
import { type Blocker, type BlockerWatch, describeBlockers, watchBlockers } from './blockers.ts';

export interface PatienceOptions {
  readonly client: Client;
  readonly databaseUrl: string;
  /** When to give up, in the time of `performance.now()`. */
  readonly until: number;
  readonly onBlocked: (by: readonly Blocker[]) => void;
}

/** Other sessions queue behind our lock request: wait only this long for a lock, then pause to let them proceed. */
const LOCK_MS = 100;
const PAUSE_MS = 1000;

/**
 * Do `work` in one transaction; while other transactions hold what it must lock, pause and begin again. Throws
 * `schema_in_use`, which names them, when the time is up.
 */
export async function patiently(options: PatienceOptions, work: () => Promise<void>): Promise<void> {
  const { client, databaseUrl, until, onBlocked } = options;
  let watch: BlockerWatch | undefined;
  try {
    while (!(await inTransaction(client, work))) {
      if (watch !== undefined && performance.now() >= until) throw inUse(watch.last);
      watch ??= await watchBlockers(databaseUrl, await pidOf(client), onBlocked);
      await sleep(Math.max(0, Math.min(PAUSE_MS, until - performance.now())));
    }
  } finally {
    await watch?.close();
  }
}

/** False: another transaction holds what `work` must lock, and nothing was done. */
async function inTransaction(client: Client, work: () => Promise<void>): Promise<boolean> {
  await client.query('begin');
  try {
    await client.query(`set local lock_timeout = ${LOCK_MS}`);
    await work();
    await client.query('commit');
    return true;
  } catch (error) {
    await client.query('rollback').catch(() => {});
    if (isServerError(error) && error.code === '55P03') return false;
    throw error;
  }
}

async function pidOf(client: Client): Promise<number> {
  const { rows } = await client.query<{ pid: number }>('select pg_catalog.pg_backend_pid() as pid');
  return rows[0]!.pid;
}

function inUse(blockers: readonly Blocker[]): TaskqError {
  const ends = blockers.filter(({ pid }) => pid !== 0).map(({ pid }) => `pg_terminate_backend(${pid})`);
  return new TaskqError(
    'schema_in_use',
    `nothing was changed: objects to change are locked by ${describeBlockers(blockers)}`,
    {
      hint: `run migrate again when that has ended${ends.length === 0 ? '' : `, or end it: select ${ends.join(', ')}`}`,
    },
  );
}
