/** The lease lengths that a heartbeat sends. */
export interface LeaseLengths {
  /** The target length. */
  readonly wantedMs: number;
  /** How long it renews held leases for. */
  readonly leaseMs: number;
  /** The length in force, by which others judge whether this worker lives, and which of its leases end too late. */
  readonly inForceMs: number;
  readonly stage: Stage;
}

/**
 * `settled`: every lease has the length in force. `recording`: the worker's row must show a longer length to others
 * before any lease has it. `switching`: the main thread must claim with the new length. `renewing`: it does; held
 * leases must be renewed.
 */
type Stage = 'settled' | 'recording' | 'switching' | 'renewing';

export interface LeaseTimes {
  readonly leaseMs: number;
  readonly heartbeatMs: number;
}

/** The heartbeat interval for another lease: a third of it, or the configured interval if that is shorter. */
export function heartbeatFor(leaseMs: number, from: LeaseTimes): number {
  const third = Math.floor(leaseMs / 3);
  return from.heartbeatMs === Math.floor(from.leaseMs / 3) ? third : Math.min(from.heartbeatMs, third);
}

/**
 * Moves a worker from one lease length to another, so that it never looks silent and none of its leases looks overdue
 * or too long. A longer length is in force before any lease has it, a shorter one after no lease is longer; meanwhile
 * heartbeats come as often as the shortest lease requires. If a step fails, the next heartbeat repeats it.
 */
export class LeaseChange {
  readonly #from: LeaseTimes;
  #wantedMs: number;
  #inForceMs: number;
  #shortestMs: number;
  #stage: Stage = 'settled';

  constructor(from: LeaseTimes) {
    this.#from = from;
    this.#wantedMs = from.leaseMs;
    this.#inForceMs = from.leaseMs;
    this.#shortestMs = from.leaseMs;
  }

  /** The values for the next heartbeat. */
  get next(): LeaseLengths {
    return {
      wantedMs: this.#wantedMs,
      leaseMs: this.isUnrecorded ? this.#shortestMs : this.#wantedMs,
      inForceMs: this.#inForceMs,
      stage: this.#stage,
    };
  }

  /** The longest wait until the next heartbeat. */
  get heartbeatMs(): number {
    return heartbeatFor(this.#shortestMs, this.#from);
  }

  /** The shortest length that a lease may have now. */
  get shortestMs(): number {
    return this.#shortestMs;
  }

  /** An operator requests this length. True: it is a new one, and a heartbeat is due. */
  request(leaseMs: number): boolean {
    if (leaseMs === this.#wantedMs) return false;
    this.#wantedMs = leaseMs;
    this.#inForceMs = Math.max(this.#inForceMs, leaseMs);
    this.#shortestMs = Math.min(this.#shortestMs, leaseMs);
    this.#stage = 'recording';
    return true;
  }

  /** The main thread claims with this length, and no other is in flight. True: a heartbeat is due. */
  switched(leaseMs: number): boolean {
    if (this.#stage !== 'switching' || leaseMs !== this.#wantedMs) return false;
    this.#stage = 'renewing';
    return true;
  }

  /** Others may still judge by the shorter length: a lock on the worker's row prevented writing the longer one. */
  get isUnrecorded(): boolean {
    return this.#stage === 'recording';
  }

  /**
   * A heartbeat was answered. `all`: none of its leases must be named again; `judgedByMs`: the length in force until
   * then.
   *
   * `switch`: the main thread must claim with the new length. `settled`: the change is complete, and in force with the
   * next heartbeat, which is due.
   */
  answered(
    { wantedMs, stage }: LeaseLengths,
    all: boolean,
    judgedByMs: number,
  ): 'switch' | 'settled' | undefined {
    if (wantedMs !== this.#wantedMs) return undefined;
    if (stage === 'recording') {
      if (judgedByMs < wantedMs) return undefined;
      this.#stage = 'switching';
      return 'switch';
    }
    if (stage !== 'renewing' || !all) return undefined;
    this.#stage = 'settled';
    this.#inForceMs = wantedMs;
    this.#shortestMs = wantedMs;
    return 'settled';
  }
}
