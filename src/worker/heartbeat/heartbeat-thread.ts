import { parentPort, workerData } from 'node:worker_threads';
import { leaseKey } from '../../domain/task.ts';
import { backingOffMs, RECONNECTING } from '../../lib/backing-off.ts';
import { isServerError } from '../../lib/database.ts';
import { type Listener, openListener } from '../../lib/listener.ts';
import { describeDatabaseError } from '../../lib/server-trouble.ts';
import { Wakeup } from '../../lib/wakeup.ts';
import { type HeartbeatAnswer, heartbeat } from '../../queue/protocol/heartbeat.ts';
import { wakeHintOf } from '../../queue/protocol/wake-hint.ts';
import type { CancelRequest } from '../isolation/decide-unresponsive.ts';
import { Watchdog } from '../isolation/watchdog.ts';
import { type LeaseRow, LeaseTable, wallClock } from '../lease/lease-table.ts';
import type { FromHeartbeat, HeartbeatSetup, ToHeartbeat } from './heartbeat-messages.ts';
import { heartbeatFor, LeaseChange } from './lease-change.ts';

/*
 * The entry of a worker's second thread. It renews the leases and listens, on a connection of its own, even while a
 * handler blocks the main thread; and it ends the process if the main thread stays blocked.
 */

/** How often to check whether the main thread answers. */
const WATCH_MS = 500;

const setup = workerData as HeartbeatSetup;
const port = parentPort!;
const table = new LeaseTable(setup.leases);
const stop = new AbortController();
const wakeup = new Wakeup();
const lease = new LeaseChange(setup);
let cursors: unknown;
let isDraining = false;
/** Requests to cancel held tasks, by lease. */
let cancels: ReadonlyMap<string, CancelRequest> = new Map();

port.on('message', (message: ToHeartbeat) => {
  if (message.kind === 'cursors') cursors = message.cursors;
  else if (message.kind === 'draining') {
    isDraining = true;
    wakeup.trigger();
  } else if (message.kind === 'leaseSwitched') {
    if (lease.switched(message.leaseMs)) wakeup.trigger();
  } else stop.abort();
});

/** The main thread stays blocked: its leases are no longer renewed, so that other workers can take the tasks. */
let isLetGo = false;
const watchdog = new Watchdog(table, setup);
const watching = setInterval(async () => {
  isLetGo = await watchdog.look(cancels);
}, WATCH_MS);
for (let failures = 0; !stop.signal.aborted; ) {
  try {
    await serve(() => {
      failures = 0;
    });
  } catch (error) {
    failures += 1;
    send({ kind: 'disconnected', why: describeDatabaseError(error, setup.databaseUrl) });
    await wakeup.wait(backingOffMs(failures, Math.random(), reconnecting()), stop.signal);
  }
}
clearInterval(watching);
port.close();

/**
 * Reconnect within a heartbeat interval: after an outage, others treat this worker as silent after two thirds of a
 * lease.
 */
function reconnecting(): typeof RECONNECTING {
  return { ...RECONNECTING, maxMs: Math.min(RECONNECTING.maxMs, lease.heartbeatMs) };
}

function deadlineMs(): number {
  return Math.min(5000, lease.shortestMs / 3);
}

/** Serve one connection until it breaks (throws) or the worker stops (returns). */
async function serve(onAnswer: () => void): Promise<void> {
  const listener = await openListener({
    connection: setup.databaseUrl,
    synchronousCommit: setup.synchronousCommit,
    access: 'write',
    applicationName: `taskq worker ${setup.workerId} heartbeat`,
    channels: ['taskq_wake', 'taskq_cancel', 'taskq_orders'],
    onNotification,
    deadlineMs: deadlineMs(),
  });
  try {
    let broken: { why: unknown } | undefined;
    const breaks = (why: unknown) => {
      broken ??= { why };
      wakeup.trigger();
    };
    listener.broken.catch(breaks);
    // Do not wait for this: first renew the held leases.
    listener.receivesNotifications.then((listening) => {
      send({ kind: 'connected', listening });
      wakeup.trigger(); // fetch orders that were sent before we listened
    }, breaks);
    for (let busyMs = 25; !stop.signal.aborted; ) {
      const answer: Beat = isLetGo ? { kind: 'renewed' } : await beat(listener);
      onAnswer();
      if (!isLetGo) send(answer.kind === 'refused' ? answer : { kind: 'answered' });
      const usualMs = lease.heartbeatMs * (0.9 + 0.1 * Math.random());
      busyMs = answer.kind === 'renewed' ? 25 : Math.min(2 * busyMs, answer.kind === 'busy' ? 1000 : usualMs);
      await wakeup.wait(answer.kind === 'renewed' ? usualMs : Math.min(busyMs, usualMs), stop.signal);
      if (broken !== undefined) throw broken.why;
    }
  } finally {
    await listener.close();
  }
}

type Beat = { readonly kind: 'renewed' | 'busy' } | { readonly kind: 'refused'; readonly why: string };

/**
 * Renew every lease. `busy`: another transaction has locked one of them, or the worker's row while a longer lease
 * length must be recorded there. Then name all again after 50 ms, doubling to 1 s: a row that stays locked for minutes
 * must not keep the others from being renewed. After a refusal, the wait grows up to the usual interval. A lease that the
 * database refuses to renew by itself is named again with the next heartbeat.
 */
async function beat(listener: Listener): Promise<Beat> {
  const rows = table.rows();
  const held = rows.map(({ id, leaseNo, startedAt }) => ({
    id,
    leaseNo,
    startedMs: startedAt === 0 ? null : Math.max(0, Math.round(wallClock() - startedAt)),
  }));
  const running = held.filter(({ startedMs }) => startedMs !== null).length;
  const { workerId } = setup;
  const next = lease.next;
  const { leaseMs, inForceMs } = next;
  const counts = { running, ahead: held.length - running };
  try {
    const {
      answers,
      orders,
      judgedByMs = 0,
    } = await heartbeat(listener, {
      ...{ workerId, leaseMs, inForceMs, held, cursors, counts },
      ...(isDraining && { stopping: true }),
      deadlineMs: deadlineMs(),
    });
    cancels = cancelsAmong(answers);
    forwardNews(rows, answers);
    const isBusy = answers.some(({ answer }) => answer === 'busy');
    continueLeaseChange(lease.answered(next, !isBusy, judgedByMs), leaseMs);
    if (orders !== undefined) {
      send({ kind: 'orders', orders });
      if (lease.request(orders.leaseMs)) wakeup.trigger();
    }
    const isLocked = answers.some(({ answer, refusal }) => answer === 'busy' && refusal === null);
    return { kind: isLocked || lease.isUnrecorded ? 'busy' : 'renewed' };
  } catch (error) {
    if (isServerError(error))
      return { kind: 'refused', why: describeDatabaseError(error, setup.databaseUrl) };
    throw error;
  }
}

function continueLeaseChange(step: ReturnType<LeaseChange['answered']>, leaseMs: number): void {
  if (step === 'switch') send({ kind: 'lease', leaseMs, heartbeatMs: heartbeatFor(leaseMs, setup) });
  if (step !== 'settled') return;
  send({ kind: 'leaseSettled', leaseMs });
  wakeup.trigger();
}

function cancelsAmong(answers: readonly HeartbeatAnswer[]): Map<string, CancelRequest> {
  const asked = answers.filter(({ cancelRequested }) => cancelRequested);
  return new Map(
    asked.map((answer) => {
      const key = leaseKey(answer);
      return [key, { receivedAt: cancels.get(key)?.receivedAt ?? wallClock(), reason: answer.cancelReason }];
    }),
  );
}

/** Report lost and refused leases and requests to cancel. Most leases that the database no longer has were just settled. */
function forwardNews(rows: readonly LeaseRow[], answers: readonly HeartbeatAnswer[]): void {
  const news = answers.filter(
    ({ answer, refusal, cancelRequested }) => answer === 'lost' || refusal !== null || cancelRequested,
  );
  if (news.length === 0) return;
  const slots = new Map(rows.map((row) => [leaseKey(row), row.slot]));
  for (const { id, leaseNo, answer, refusal, cancelRequested, cancelReason } of news) {
    const lease = { id, leaseNo, slot: slots.get(leaseKey({ id, leaseNo })) ?? -1 };
    if (!table.has(lease)) continue;
    if (answer === 'lost') send({ kind: 'lost', lease });
    else if (cancelRequested) send({ kind: 'cancel', lease, reason: cancelReason });
    if (refusal !== null) send({ kind: 'unrenewed', lease, refusal });
  }
}

function onNotification(channel: string, payload: string): void {
  if (channel !== 'taskq_wake') {
    // An empty payload: the orders are for all workers.
    if (payload === String(setup.workerId) || (channel === 'taskq_orders' && payload === ''))
      wakeup.trigger();
    return;
  }
  const hint = wakeHintOf(payload);
  if (hint !== undefined) send({ kind: 'wake', ...hint });
}

function send(message: FromHeartbeat): void {
  port.postMessage(message);
}
