import { writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { outcomeOf } from '../../domain/outcome.ts';
import type { Lease } from '../../domain/task.ts';
import { openDatabase } from '../../lib/database.ts';
import type { SynchronousCommit } from '../../lib/synchronous-commit.ts';
import { giveBack } from '../../queue/protocol/give-back.ts';
import { settle } from '../../queue/protocol/settle.ts';
import { type LeaseTable, wallClock } from '../lease/lease-table.ts';
import { EVENTS } from '../log/events.ts';
import {
  type CancelRequests,
  decideUnresponsive,
  patienceWith,
  type Silence,
  type Verdict,
} from './decide-unresponsive.ts';
import { inspectMainThread } from './inspect-main-thread.ts';

export interface WatchdogSetup {
  readonly databaseUrl: string;
  readonly synchronousCommit: SynchronousCommit;
  readonly workerId: number;
  readonly graceMs: number;
  /** In a shared process the watchdog ends nothing: it lets the leases of a blocked main thread run out. */
  readonly process: 'own' | 'shared';
  /** Where the watchdog writes the last log line, because the main thread cannot. */
  readonly logDescriptor: number;
}

/** If two checks are this far apart, this thread did not run either. */
const STOPPED_MS = 2000;

const ASK_MS = 1000;

let lookedAt = 0;
let awakeSince = 0;
/** Decide nothing before `until` about the silence that began with this beat. */
let decided = { beat: 0, at: 0, until: 0 };
let isAsking = false;
/** The beat after which a process that is not ours should have been ended. */
let endless: number | undefined;

/**
 * End the process if the main thread is blocked: when the handler that blocks it has run two seconds longer than the
 * grace after its timeout or cancellation, or for five minutes without either.
 *
 * Its outcome is written under its lease, the other tasks are given back, and the process is killed, since nothing in
 * it can answer. Called from the other thread every half second. True: the process should end, but is not ours to end.
 */
export async function watch(
  table: LeaseTable,
  setup: WatchdogSetup,
  cancels: CancelRequests,
): Promise<boolean> {
  const now = wallClock();
  // A process that was stopped (SIGSTOP, a frozen container) has two silent threads; its main thread is not to blame.
  if (now - lookedAt > STOPPED_MS) awakeSince = now;
  lookedAt = now;
  const { lastBeat, lastEntered } = table;
  const silentMs = now - Math.max(lastBeat, awakeSince);
  if (endless === lastBeat) return true;
  if (lastBeat === 0 || isAsking || silentMs < Math.min(setup.graceMs, 1000) + 2000) return false;
  const isNews = [...cancels.values()].some(({ receivedAt }) => receivedAt > decided.at);
  if (decided.beat === lastBeat && now < decided.until && !isNews) return false;
  const silence: Silence = {
    rows: table.rows(),
    lastEntered,
    now,
    silentMs,
    graceMs: setup.graceMs,
    cancels,
  };
  if (patienceWith(silence) > 0) return false;
  isAsking = true;
  const verdict = decideUnresponsive(silence, await inspectMainThread(ASK_MS));
  isAsking = false;
  if (verdict.kind === 'wait') {
    decided = { beat: lastBeat, at: now, until: now + verdict.ms };
    return false;
  }
  if (table.lastBeat !== lastBeat) return false;
  if (setup.process === 'shared') {
    endless = lastBeat;
    return true;
  }
  isAsking = true;
  await end(setup, verdict);
  return false;
}

type End = Verdict & { readonly kind: 'end' };

async function end(setup: WatchdogSetup, verdict: End): Promise<void> {
  // Tasks that could not be written are left until their leases run out.
  await record(setup, verdict).catch(() => {});
  try {
    writeSync(setup.logDescriptor, lastLine(setup, verdict.blamed?.row));
  } catch {
    // Nothing reads the log, or not fast enough.
  }
  process.kill(process.pid, 'SIGKILL');
}

async function record(setup: WatchdogSetup, { blamed, givenBack }: End): Promise<void> {
  const db = openDatabase({
    databaseUrl: setup.databaseUrl,
    synchronousCommit: setup.synchronousCommit,
    access: 'write',
    maxConnections: 1,
    applicationName: `taskq worker ${setup.workerId} watchdog`,
    deadlineMs: 5000,
  });
  if (blamed !== undefined) {
    const { id, leaseNo, startedAt } = blamed.row;
    const ranMs = wallClock() - startedAt;
    await whileBusy(() =>
      settle(db, setup.workerId, [{ id, leaseNo, ranMs, outcome: outcomeOf(blamed.ended) }]),
    );
  }
  const given = givenBack.map(({ id, leaseNo, startedAt }) => ({ id, leaseNo, started: startedAt > 0 }));
  await whileBusy(() => giveBack(db, setup.workerId, given));
}

/** Retry for at most two seconds: a heartbeat of ours, still in flight, may have locked some of the rows. */
async function whileBusy(ask: () => Promise<readonly { readonly answer: string }[]>): Promise<void> {
  for (let asked = 0; asked < 40; asked++) {
    const answers = await ask();
    if (!answers.some(({ answer }) => answer === 'busy')) return;
    await sleep(50);
  }
}

function lastLine(setup: WatchdogSetup, blamed: Lease | undefined): string {
  const [level, msg] = EVENTS['worker.unresponsive'];
  return `${JSON.stringify({
    level,
    time: new Date().toISOString(),
    event: 'worker.unresponsive',
    worker_id: setup.workerId,
    ...(blamed && { task_id: blamed.id }),
    msg,
  })}\n`;
}
