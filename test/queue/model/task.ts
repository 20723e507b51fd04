/** 1 and 2 are the workers; 0 is nobody. */
export type Worker = 1 | 2;

export type Status =
  | 'pending'
  | 'leased'
  | 'running'
  | 'completed'
  | 'cancelled'
  | 'expired'
  | 'dead'
  /** Discarded: no table has it. */
  | 'gone';

/** What a claim gave out. A worker may write about it long after it has lost it. */
export interface Lease {
  readonly no: number;
  readonly worker: Worker;
  /** The handler has started, whatever the database knows of it. */
  readonly ran: boolean;
  /** How many of its settles were answered `recorded`. */
  readonly outcomes: number;
}

/** A task of the model: its row, and what no row says (`leases`, `lostStarts`). */
export interface Task {
  readonly status: Status;
  readonly leaseNo: number;
  readonly owner: 0 | Worker;
  /** Whose outcome put the task back, under this lease_no. */
  readonly settledBy: 0 | Worker;
  /** The lease: 0 runs, 1 ran out, 2 ran out ten leases ago. */
  readonly lapse: 0 | 1 | 2;
  /** `started_at` is set. */
  readonly started: boolean;
  /** `available_at` is yet to come. */
  readonly delayed: boolean;
  readonly expiry: 'none' | 'ahead' | 'passed';
  readonly cancelRequested: boolean;
  readonly attempts: number;
  readonly losses: number;
  readonly releases: number;
  /** How often it was lost as a suspect before it started. */
  readonly lostAhead: number;
  /** Rows of `task_errors`. */
  readonly errors: number;
  readonly reason: string | null;
  readonly maxAttempts: number;
  readonly leases: readonly Lease[];
  /** Starts that ended with the loss of the lease, since a handler last reported or an operator revived it. */
  readonly lostStarts: number;
}

/** The tenth give-back of a started task makes it a dead letter. */
export const MAX_RELEASES = 10;

/** From this many losses on it is claimed alone, and is to blame when its worker is lost. */
export const MAX_LOST_AHEAD = 3;

export const isLone = ({ lostAhead }: Task) => lostAhead >= MAX_LOST_AHEAD;

/** This many leases lost, the last one while running, make it one too. */
export const MAX_LOSSES = 3;

export const FRESH: Task = {
  status: 'pending',
  leaseNo: 0,
  owner: 0,
  settledBy: 0,
  lapse: 0,
  started: false,
  delayed: false,
  expiry: 'none',
  cancelRequested: false,
  attempts: 0,
  losses: 0,
  releases: 0,
  lostAhead: 0,
  errors: 0,
  reason: null,
  maxAttempts: 2,
  leases: [],
  lostStarts: 0,
};

export const isHeld = (task: Task) => task.status === 'leased' || task.status === 'running';
export const isLive = (task: Task) => task.status === 'pending' || isHeld(task);
export const isFinished = (task: Task) => !isLive(task) && task.status !== 'dead' && task.status !== 'gone';

/** A claim takes it. One that has started once does not expire. */
export const isClaimable = (task: Task) =>
  task.status === 'pending' && !task.delayed && (task.expiry !== 'passed' || task.started);

/** The sweep ends it. */
export const isExpired = (task: Task) =>
  task.status === 'pending' && task.expiry === 'passed' && !task.started && task.attempts === 0;

/** The row as a test reads it back, and its follow-ups; what says nothing of an ended task is left out. */
export function rowOf(task: Task, followUps: number): string {
  const { status, leaseNo, owner, attempts, losses, releases, errors } = task;
  if (status === 'gone') return `gone e${errors}`;
  const flags = [
    task.started && 'started',
    task.delayed && 'delayed',
    isLive(task) && task.lostAhead > 0 && `ahead${task.lostAhead}`,
    task.cancelRequested && 'cancel',
    isHeld(task) && `lapse${task.lapse}`,
    task.reason,
    task.status === 'completed' && followUps > 0 && `followed${followUps}`,
  ];
  const counts = `no${leaseNo} of${owner} a${attempts} l${losses} r${releases} e${errors}`;
  return [status, counts, ...flags.filter(Boolean)].join(' ');
}
