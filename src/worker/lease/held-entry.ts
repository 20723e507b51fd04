import type { Outcome } from '../../domain/outcome.ts';
import type { ClaimedTask } from '../../domain/task.ts';
import type { Attempt } from '../attempt/attempt.ts';
import type { Delivery, HeldState, HeldTask } from './held-task.ts';

/** A held task as the ledger changes it; all others see a `HeldTask`. */
export class HeldEntry implements HeldTask {
  readonly task: ClaimedTask;
  readonly id: string;
  readonly leaseNo: number;
  readonly slot: number;
  readonly claimedAt: number;
  state: HeldState = 'waiting';
  attempt: Attempt | undefined = undefined;
  outcome: Outcome | null = null;
  ranMs: number | null = null;
  delivery: Delivery | undefined = undefined;
  isAbandoned = false;
  /** Its report was sent and has no answer yet. */
  isSent = false;

  constructor(task: ClaimedTask, slot: number, claimedAt: number) {
    this.task = task;
    this.id = task.id;
    this.leaseNo = task.leaseNo;
    this.slot = slot;
    this.claimedAt = claimedAt;
  }
}
