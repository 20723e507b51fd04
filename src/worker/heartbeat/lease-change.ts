/** With what a heartbeat is sent. */
export interface Beating {
  /** For how long it renews what is held. */
  readonly leaseMs: number;
  /** What is in force: by it others judge whether this worker lives, and which of its leases end too late. */
  readonly inForceMs: number;
  readonly stage: Stage;
}

/**
 * `settled`: every lease is of the length in force. `wanted`: others are to know of a longer one before a lease is.
 * `told`: the main thread is to claim for so long. `taken`: it does; what is held is to be renewed.
 */
type Stage = 'settled' | 'wanted' | 'told' | 'taken';

export interface LeaseTimes {
  readonly leaseMs: number;
  readonly heartbeatMs: number;
}

/** The time between heartbeats for another lease: a third unless it was set, and never more. */
export function heartbeatFor(leaseMs: number, from: LeaseTimes): number {
  const third = Math.floor(leaseMs / 3);
  return from.heartbeatMs === Math.floor(from.leaseMs / 3) ? third : Math.min(from.heartbeatMs, third);
}

/**
 * Takes a worker from one length of its leases to another, so that it never looks silent, and no lease of its overdue or
 * too long: a longer one is in force before a lease is longer, a shorter one once none is longer; and meanwhile heartbeats
 * come as often as the shortest asks for. Whatever fails in between is done again by the next heartbeat.
 */
export class LeaseChange {
  readonly #from: LeaseTimes;
  #leaseMs: number;
  #inForceMs: number;
  #shortestMs: number;
  #stage: Stage = 'settled';

  constructor(from: LeaseTimes) {
    this.#from = from;
    this.#leaseMs = from.leaseMs;
    this.#inForceMs = from.leaseMs;
    this.#shortestMs = from.leaseMs;
  }

  /** For the next heartbeat. */
  get beating(): Beating {
    return { leaseMs: this.#leaseMs, inForceMs: this.#inForceMs, stage: this.#stage };
  }

  /** How long until the next heartbeat, at most. */
  get heartbeatMs(): number {
    return heartbeatFor(this.#shortestMs, this.#from);
  }

  /** The shortest lease that may be of use to somebody now. */
  get shortestMs(): number {
    return this.#shortestMs;
  }

  /** An operator wants this length. True: it is another one, and a heartbeat is due. */
  want(leaseMs: number): boolean {
    if (leaseMs === this.#leaseMs) return false;
    this.#leaseMs = leaseMs;
    this.#inForceMs = Math.max(this.#inForceMs, leaseMs);
    this.#shortestMs = Math.min(this.#shortestMs, leaseMs);
    this.#stage = 'wanted';
    return true;
  }

  /** The main thread claims for so long, and nothing else is under way. True: a heartbeat is due. */
  taken(leaseMs: number): boolean {
    if (this.#stage !== 'told' || leaseMs !== this.#leaseMs) return false;
    this.#stage = 'taken';
    return true;
  }

  /** Others are not known to judge by the longer one yet: whoever has the worker's row locked kept it from being written. */
  get isUnknown(): boolean {
    return this.#stage === 'wanted';
  }

  /**
   * A heartbeat was answered. `all`: nothing of what it named has to be named again; `judgedByMs`: what was in force until
   * then. `tell`: the main thread is to claim for so long. `settled`: the change is complete, and in force with the next
   * heartbeat, which is due.
   */
  beaten({ leaseMs, stage }: Beating, all: boolean, judgedByMs: number): 'tell' | 'settled' | undefined {
    if (leaseMs !== this.#leaseMs) return undefined;
    if (stage === 'wanted') {
      if (judgedByMs < leaseMs) return undefined;
      this.#stage = 'told';
      return 'tell';
    }
    if (stage !== 'taken' || !all) return undefined;
    this.#stage = 'settled';
    this.#inForceMs = leaseMs;
    this.#shortestMs = leaseMs;
    return 'settled';
  }
}
