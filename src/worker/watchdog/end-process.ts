import { setTimeout as sleep } from 'node:timers/promises';
import { outcomeOf } from '../../domain/outcome.ts';
import { type Database, openDatabase } from '../../lib/database.ts';
import type { SynchronousCommit } from '../../lib/synchronous-commit.ts';
import { giveBack } from '../../queue/protocol/give-back.ts';
import { settle } from '../../queue/protocol/settle.ts';
import { processClock } from '../lease/lease-table.ts';
import { writeLastLine } from '../log/last-line.ts';
import type { Verdict } from './decide-unresponsive.ts';

/** The process whose main thread is blocked. */
export interface BlockedProcess {
  readonly databaseUrl: string;
  readonly synchronousCommit: SynchronousCommit;
  readonly workerId: number;
  /** Where to write the last log line, because the main thread cannot. */
  readonly logDescriptor: number;
}

type End = Verdict & { readonly kind: 'end' };

/**
 * Write the outcome of the task to blame under its lease, give back the other tasks, and kill this process, whose main
 * thread no longer answers. Connecting may take long: if the main thread is no longer blocked by then, nothing is
 * written, and the process lives on.
 */
export async function endProcess(
  blocked: BlockedProcess,
  verdict: End,
  isStillBlocked: () => boolean,
): Promise<void> {
  const db = openDatabase({
    databaseUrl: blocked.databaseUrl,
    synchronousCommit: blocked.synchronousCommit,
    access: 'write',
    maxConnections: 1,
    applicationName: `taskq worker ${blocked.workerId} watchdog`,
    deadlineMs: 5000,
  });
  const isConnected = await db.query({ text: 'select' }).then(
    () => true,
    () => false,
  );
  if (!isStillBlocked()) return db.close(0);
  // Tasks that could not be written are left until their leases run out.
  if (isConnected) await record(db, blocked.workerId, verdict).catch(() => {});
  const blamed = verdict.blamed?.row;
  writeLastLine(blocked.logDescriptor, 'worker.unresponsive', {
    worker_id: blocked.workerId,
    ...(blamed && { task_id: blamed.id }),
  });
  process.kill(process.pid, 'SIGKILL');
}

async function record(db: Database, workerId: number, { blamed, givenBack }: End): Promise<void> {
  if (blamed !== undefined) {
    const { id, leaseNo, startedAt } = blamed.row;
    const ranMs = processClock() - startedAt;
    await whileBusy(() => settle(db, workerId, [{ id, leaseNo, ranMs, outcome: outcomeOf(blamed.ended) }]));
  }
  const given = givenBack.map(({ id, leaseNo, startedAt }) => ({ id, leaseNo, started: startedAt > 0 }));
  await whileBusy(() => giveBack(db, workerId, given));
}

/** Retry for at most two seconds: a heartbeat of ours, still in flight, may have locked some of the rows. */
async function whileBusy(ask: () => Promise<readonly { readonly answer: string }[]>): Promise<void> {
  for (let asked = 0; asked < 40; asked++) {
    const answers = await ask();
    if (!answers.some(({ answer }) => answer === 'busy')) return;
    await sleep(50);
  }
}
