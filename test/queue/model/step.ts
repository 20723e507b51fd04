import {
  isClaimable,
  isExpired,
  isFinished,
  isHeld,
  isLive,
  isLone,
  type Lease,
  MAX_LOSSES,
  MAX_RELEASES,
  type Task,
  type Worker,
} from './task.ts';

export const OUTCOMES = ['completed', 'failed', 'crashed', 'dead', 'snoozed', 'cancelled'] as const;

/** `crashed` failed without a word of the handler, and waits for its back-off; `failed` is due again at once. */
export type Outcome = (typeof OUTCOMES)[number];

/**
 * The other worker, who got the same lease_no of this task by a claim that the database then forgot: a commit was lost
 * in a crash, a failover or a restore.
 */
export type Stranger = 'stranger';

/** What can happen to one task. A worker names its lease by number; it may have lost it. */
export type Action =
  | { readonly verb: 'claim'; readonly worker: Worker; readonly ahead: boolean }
  /** A claimed-ahead task starts, without a write. */
  | { readonly verb: 'start'; readonly lease: number }
  | { readonly verb: 'heartbeat'; readonly lease: number; readonly started: boolean; readonly by?: Stranger }
  | { readonly verb: 'settle'; readonly lease: number; readonly outcome: Outcome; readonly by?: Stranger }
  | { readonly verb: 'give_back'; readonly lease: number; readonly by?: Stranger }
  /** `own`: this worker asks for what it does not know of, the answer of a claim having been lost. */
  | { readonly verb: 'rescue'; readonly own: 0 | Worker }
  | { readonly verb: 'cancel' | 'expire' | 'add_dead' | 'revive' | 'discard' }
  /** Time passes: the lease runs out (and again: for ten leases), the delay is over, the task expires. */
  | { readonly verb: 'lapse' | 'fall_due' | 'overdue' };

/** What a task's fate depends on besides itself. */
export interface Surroundings {
  /** Workers without a heartbeat for a whole lease. */
  readonly silent: readonly Worker[];
  /** Another live task has its key. */
  readonly keyHeld: boolean;
}

/** The answer is what the SQL function says of this task; empty when it does not name it. */
export interface Stepped {
  readonly task: Task;
  readonly answer: string;
}

export type Step = (task: Task, action: Action, around: Surroundings) => Stepped;

/** The protocol: what becomes of a task, and what the caller is answered. */
export const step: Step = (task, action, around) => {
  if ('by' in action) return unchanged(task, 'lost');
  switch (action.verb) {
    case 'claim':
      return isClaimable(task) ? claim(task, action.worker, action.ahead) : unchanged(task, '');
    case 'start':
      return unchanged({ ...task, leases: withLease(task, action.lease, { ran: true }) }, '');
    case 'heartbeat':
      return heartbeat(task, action.lease, action.started);
    case 'settle':
      return holds(task, action.lease)
        ? settle(task, action)
        : unchanged(task, answerToRepeat(task, action.lease));
    case 'give_back':
      return holds(task, action.lease)
        ? giveBack(task, leaseOf(task, action.lease).ran)
        : unchanged(task, 'lost');
    case 'rescue':
      return isLost(task, action.own, around) ? rescue(task, action.own) : unchanged(task, '');
    case 'cancel':
      return cancel(task);
    case 'expire':
      return isExpired(task) ? { task: ended(task, 'expired'), answer: '' } : unchanged(task, '');
    case 'add_dead':
      return addDead(task);
    case 'revive':
      return revive(task, around.keyHeld);
    case 'discard':
      return task.status === 'dead'
        ? { task: { ...task, status: 'gone', reason: null, errors: 0 }, answer: 'discarded' }
        : unchanged(task, 'not_dead');
    case 'lapse':
      return unchanged({ ...task, lapse: task.lapse === 0 ? 1 : 2 }, '');
    case 'fall_due':
      return unchanged({ ...task, delayed: false }, '');
    case 'overdue':
      return unchanged({ ...task, expiry: 'passed' }, '');
    default:
      return action satisfies never;
  }
};

const unchanged = (task: Task, answer: string): Stepped => ({ task, answer });

export const leaseOf = (task: Task, no: number): Lease => task.leases.find((lease) => lease.no === no)!;

const holds = (task: Task, lease: number) => isHeld(task) && task.leaseNo === lease;

function withLease(task: Task, no: number, change: Partial<Lease>): readonly Lease[] {
  return task.leases.map((lease) => (lease.no === no ? { ...lease, ...change } : lease));
}

/** A suspect starts only once it is marked as running. */
function claim(task: Task, worker: Worker, ahead: boolean): Stepped {
  const running = !ahead && task.losses === 0;
  const leaseNo = task.leaseNo + 1;
  const leases = [...task.leases, { no: leaseNo, worker, ran: running, outcomes: 0 }];
  const status = running ? 'running' : 'leased';
  return {
    task: { ...task, status, leaseNo, owner: worker, lapse: 0, started: task.started || running, leases },
    answer: `${leaseNo} ${status}`,
  };
}

function heartbeat(task: Task, no: number, started: boolean): Stepped {
  const leases = started ? withLease(task, no, { ran: true }) : task.leases;
  if (!holds(task, no)) return { task: { ...task, leases }, answer: 'lost' };
  const row: Task = started ? { ...task, status: 'running', started: true } : task;
  return { task: { ...row, leases, lapse: 0 }, answer: `renewed${task.cancelRequested ? ' cancel' : ''}` };
}

function settle(task: Task, { lease, outcome }: { lease: number; outcome: Outcome }): Stepped {
  const { ran, outcomes } = leaseOf(task, lease);
  const leases = withLease(task, lease, { outcomes: outcomes + 1 });
  // An attempt with an outcome has started, whether or not it was reported.
  const noted: Task = { ...task, leases, started: true, lostStarts: 0 };
  if (outcome === 'completed') return { task: ended(noted, 'completed'), answer: 'recorded' };
  const burned = outcome === 'snoozed' || outcome === 'cancelled' ? 0 : 1;
  const counted: Task = {
    ...noted,
    started: task.started || ran || burned === 1,
    attempts: task.attempts + burned,
    errors: task.errors + burned,
    losses: outcome === 'crashed' ? Math.max(task.losses, 1) : 0,
    releases: 0,
    lostAhead: 0,
  };
  if (outcome === 'dead') return { task: died(counted, 'gave_up'), answer: 'recorded dead' };
  if (outcome === 'cancelled' || task.cancelRequested) {
    return { task: ended(counted, 'cancelled'), answer: 'recorded cancelled' };
  }
  if (burned === 1 && counted.attempts >= task.maxAttempts) {
    return { task: died(counted, 'attempts_spent'), answer: 'recorded dead' };
  }
  return {
    task: { ...waiting(counted), delayed: outcome !== 'failed', settledBy: task.owner },
    answer: 'recorded pending',
  };
}

/** What a settle is answered for a lease that does not hold the task. */
function answerToRepeat(task: Task, lease: number): string {
  return task.status !== 'gone' && task.leaseNo === lease ? `already ${task.status}` : 'lost';
}

function giveBack(task: Task, ran: boolean): Stepped {
  const released: Task = {
    ...task,
    leaseNo: task.leaseNo + 1,
    releases: task.releases + (ran ? 1 : 0),
    started: task.started || ran,
  };
  if (task.cancelRequested) return { task: ended(released, 'cancelled'), answer: 'recorded' };
  if (released.releases >= MAX_RELEASES)
    return { task: died(released, 'given_back_too_often'), answer: 'recorded' };
  return { task: waiting(released), answer: 'recorded' };
}

function isLost(task: Task, own: 0 | Worker, { silent }: Surroundings): boolean {
  const { owner, lapse } = task;
  if (!isHeld(task) || owner === 0 || lapse === 0) return false;
  return silent.includes(owner) || owner === own || lapse === 2;
}

function rescue(task: Task, own: 0 | Worker): Stepped {
  // Its own worker does not know of it: no handler has started it, unless it is a suspect.
  const isUnknown = task.owner === own && task.losses === 0;
  const toBlame = (task.status === 'running' && !isUnknown) || isLone(task);
  const lost: Task = {
    ...task,
    leaseNo: task.leaseNo + 1,
    losses: task.losses + (toBlame || task.losses === 0 ? 1 : 0),
    lostAhead: task.lostAhead + (task.losses > 0 && !toBlame ? 1 : 0),
    errors: task.errors + (toBlame ? 1 : 0),
    lostStarts: task.lostStarts + (leaseOf(task, task.leaseNo).ran ? 1 : 0),
  };
  if (task.cancelRequested) return { task: ended(lost, 'cancelled'), answer: 'cancelled' };
  if (toBlame && lost.losses >= MAX_LOSSES) return { task: died(lost, 'worker_lost'), answer: 'dead' };
  return { task: waiting(lost), answer: 'pending' };
}

function cancel(task: Task): Stepped {
  if (isHeld(task)) return { task: { ...task, cancelRequested: true }, answer: 'requested' };
  if (isLive(task)) return { task: ended(task, 'cancelled'), answer: 'cancelled' };
  return unchanged(task, 'not_live');
}

function addDead(task: Task): Stepped {
  if (isHeld(task)) return unchanged(task, 'held');
  if (isFinished(task) || task.status === 'gone') return unchanged(task, 'not_live');
  return { task: died(task, 'by_hand'), answer: 'dead' };
}

function revive(task: Task, keyHeld: boolean): Stepped {
  if (task.status !== 'dead') return unchanged(task, 'not_dead');
  if (keyHeld) return unchanged(task, 'key_held');
  const anew = { attempts: 0, losses: 0, releases: 0, lostAhead: 0, lostStarts: 0, reason: null };
  const revived = { ...waiting(task), ...anew, started: false, settledBy: task.owner };
  return { task: revived, answer: 'revived' };
}

const waiting = (task: Task): Task => ({ ...task, status: 'pending', owner: 0, settledBy: 0, lapse: 0 });

/** The row keeps whose attempt came last. */
function ended(task: Task, status: 'completed' | 'cancelled' | 'expired'): Task {
  const cancelRequested = task.cancelRequested || status === 'cancelled';
  return { ...task, ...last(task), status, cancelRequested, lapse: 0, delayed: false, expiry: 'none' };
}

/** A dead letter keeps no request to cancel and does not expire. */
function died(task: Task, reason: string): Task {
  return {
    ...task,
    ...last(task),
    status: 'dead',
    reason,
    cancelRequested: false,
    lapse: 0,
    delayed: false,
    expiry: 'none',
  };
}

const last = ({ owner, settledBy }: Task) => ({ owner: owner || settledBy, settledBy: 0 as const });
