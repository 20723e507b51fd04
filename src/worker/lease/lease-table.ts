import type { Lease } from '../../domain/task.ts';

/** A held task's row in the table. Times are `processClock()`; 0: not started, no deadline. */
export interface LeaseRow extends HeldLease {
  readonly startedAt: number;
  readonly deadlineAt: number;
  /** It runs in a child process. */
  readonly isIsolated: boolean;
}

/** A lease and its slot in the table. */
export interface HeldLease extends Lease {
  readonly slot: number;
}

/** How a task starts. */
export interface Start {
  /** `performance.now()`. */
  readonly startedAt: number;
  /** Null: unlimited. */
  readonly timeoutMs: number | null;
  readonly isIsolated: boolean;
}

/** The table's memory, as it is passed to another thread. */
export interface LeaseMemory {
  readonly memory: SharedArrayBuffer;
  readonly capacity: number;
}

/**
 * The leases that this process holds, in memory shared by two threads. The main thread writes it at every claim and
 * every end; the heartbeat thread reads it at any time, even while the main thread is blocked.
 *
 * A row read while it is being written may mix two leases. Its pair of id and lease_no then matches no lease, so the
 * database answers `lost` for a lease that no slot holds, and that answer is ignored.
 */
export class LeaseTable {
  readonly shared: LeaseMemory;
  /** [0] when the main thread last answered, [1] the slot whose handler it entered last. */
  readonly #pulse: Float64Array;
  readonly #ids: BigInt64Array;
  readonly #startedAt: Float64Array;
  readonly #deadlineAt: Float64Array;
  readonly #leaseNos: Int32Array;
  readonly #isolated: Int32Array;
  /** 1 where a slot holds a lease. No id can mean a free slot: any number may be the id of a row inserted by hand. */
  readonly #used: Int32Array;
  readonly #free: number[];

  constructor(shared: number | LeaseMemory) {
    this.shared =
      typeof shared === 'number'
        ? { memory: new SharedArrayBuffer(16 + shared * ROW_BYTES), capacity: shared }
        : shared;
    const { memory, capacity } = this.shared;
    this.#pulse = new Float64Array(memory, 0, 2);
    this.#ids = new BigInt64Array(memory, 16, capacity);
    this.#startedAt = new Float64Array(memory, 16 + 8 * capacity, capacity);
    this.#deadlineAt = new Float64Array(memory, 16 + 16 * capacity, capacity);
    this.#leaseNos = new Int32Array(memory, 16 + 24 * capacity, capacity);
    this.#isolated = new Int32Array(memory, 16 + 28 * capacity, capacity);
    this.#used = new Int32Array(memory, 16 + 32 * capacity, capacity);
    this.#free = Array.from({ length: capacity }, (_, index) => capacity - 1 - index);
  }

  /** How many more leases fit. */
  get room(): number {
    return this.#free.length;
  }

  /** Enter a claimed task. Returns its slot; throws if the table is full. */
  add({ id, leaseNo }: Lease): number {
    const slot = this.#free.pop();
    if (slot === undefined) throw new Error('the lease table is full');
    this.#startedAt[slot] = 0;
    this.#deadlineAt[slot] = 0;
    this.#leaseNos[slot] = leaseNo;
    this.#ids[slot] = BigInt(id);
    this.#used[slot] = 1;
    return slot;
  }

  /** Record that the task of a slot starts. */
  start(slot: number, { startedAt, timeoutMs, isIsolated }: Start): void {
    const at = TIME_ORIGIN + startedAt;
    this.#isolated[slot] = isIsolated ? 1 : 0;
    this.#deadlineAt[slot] = timeoutMs === null ? 0 : at + timeoutMs;
    this.#startedAt[slot] = at;
    if (!isIsolated) this.#pulse[1] = slot;
  }

  /** Record that the task of a slot did not begin. */
  putBack(slot: number): void {
    this.#startedAt[slot] = 0;
    this.#deadlineAt[slot] = 0;
  }

  /** Remove the lease of a slot: its outcome is recorded, or another worker has the lease. */
  remove(slot: number): void {
    this.#used[slot] = 0;
    this.#free.push(slot);
  }

  /** Whether the slot still holds this lease. */
  has({ slot, id, leaseNo }: HeldLease): boolean {
    return this.#used[slot] === 1 && this.#leaseNos[slot] === leaseNo && this.#ids[slot] === BigInt(id);
  }

  /** Record that the main thread answers. */
  beat(): void {
    this.#pulse[0] = processClock();
  }

  /** When the main thread last answered. */
  get lastBeat(): number {
    return this.#pulse[0]!;
  }

  /** The slot whose handler the main thread entered last. */
  get lastEntered(): number {
    return this.#pulse[1]!;
  }

  /** All leases in the table. */
  rows(): LeaseRow[] {
    const rows: LeaseRow[] = [];
    for (let slot = 0; slot < this.shared.capacity; slot++) {
      if (this.#used[slot] === 0) continue;
      rows.push({
        slot,
        id: String(this.#ids[slot]!),
        leaseNo: this.#leaseNos[slot]!,
        startedAt: this.#startedAt[slot]!,
        deadlineAt: this.#deadlineAt[slot]!,
        isIsolated: this.#isolated[slot] === 1,
      });
    }
    return rows;
  }
}

const ROW_BYTES = 36;

/** The time origin of this thread. */
const TIME_ORIGIN = performance.timeOrigin;

/** Milliseconds on a clock that never jumps and is the same in every thread of the process. */
export function processClock(): number {
  return TIME_ORIGIN + performance.now();
}
