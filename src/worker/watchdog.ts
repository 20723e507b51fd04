import { writeSync } from 'node:fs';
import { outcomeOf } from '../domain/outcome.ts';
import { openDatabase } from '../lib/database.ts';
import { giveBack } from '../queue/give-back.ts';
import { settle } from '../queue/settle.ts';
import { EVENTS } from './events.ts';
import type { HeartbeatSetup } from './heartbeat-messages.ts';
import { type LeaseTable, type TableRow, wallClock } from './lease-table.ts';

/** How long the main thread may be silent while it runs a task without a deadline. */
const WITHOUT_DEADLINE_MS = 300_000;

/**
 * End the process when the main thread does not come back: when it has not answered for two seconds more than the
 * grace after the deadline of a task, or for five minutes while the task it entered last has none. The outcome of
 * the tasks to blame is written with their fence, the others are given back, and the process is killed: nothing in it
 * can be asked any more. Called from the other thread, every half second.
 */
export async function watch(table: LeaseTable, setup: HeartbeatSetup): Promise<void> {
  const now = wallClock();
  // A process that was stopped (SIGSTOP, a frozen container) has two silent threads, and the main one is not to blame.
  if (now - lookedAt > STOPPED_MS) awakeSince = now;
  lookedAt = now;
  const silentMs = now - Math.max(table.lastBeat, awakeSince);
  if (table.lastBeat === 0 || ending || silentMs < Math.min(setup.graceMs, 1000) + 2000) return;
  const rows = table.rows();
  const guilty = rows.filter((row) => isGuilty(row, { table, now, silentMs, graceMs: setup.graceMs }));
  if (guilty.length === 0) return;
  ending = true;
  await end(setup, guilty, rows);
}

/** A look that comes so much later than the last one says that this thread did not run either. */
const STOPPED_MS = 2000;

let lookedAt = 0;
let awakeSince = 0;
let ending = false;

interface Look {
  readonly table: LeaseTable;
  readonly now: number;
  readonly silentMs: number;
  readonly graceMs: number;
}

function isGuilty(row: TableRow, { table, now, silentMs, graceMs }: Look): boolean {
  if (row.startedAt === 0) return false;
  if (row.deadlineAt > 0) return now > row.deadlineAt + graceMs + 2000;
  return row.slot === table.lastEntered && silentMs > WITHOUT_DEADLINE_MS;
}

async function end(setup: HeartbeatSetup, guilty: TableRow[], rows: TableRow[]): Promise<void> {
  const now = wallClock();
  const db = openDatabase({
    databaseUrl: setup.databaseUrl,
    maxConnections: 1,
    applicationName: `taskq worker ${setup.workerId} watchdog`,
    deadlineMs: 5000,
  });
  try {
    await settle(
      db,
      guilty.map(({ id, leaseNo, startedAt, deadlineAt }) => ({
        id,
        leaseNo,
        ranMs: now - startedAt,
        outcome: outcomeOf(
          deadlineAt > 0
            ? { kind: 'timedOut', timeoutMs: deadlineAt - startedAt }
            : { kind: 'unresponsive', blockedMs: now - startedAt },
        ),
      })),
    );
    const innocent = rows.filter((row) => !guilty.includes(row));
    await giveBack(
      db,
      innocent.map(({ id, leaseNo, startedAt }) => ({ id, leaseNo, started: startedAt > 0 })),
    );
  } catch {
    // What could not be written is left to the leases.
  }
  writeSync(setup.logDescriptor, lastLine(setup, guilty));
  process.kill(process.pid, 'SIGKILL');
}

function lastLine(setup: HeartbeatSetup, guilty: TableRow[]): string {
  const [level, msg] = EVENTS['worker.unresponsive'];
  return `${JSON.stringify({
    level,
    time: new Date().toISOString(),
    event: 'worker.unresponsive',
    worker_id: setup.workerId,
    task_ids: guilty.map(({ id }) => id),
    msg,
  })}\n`;
}
