import type { Queryable } from '../../lib/database.ts';
import type { Registered } from '../../queue/protocol/register-worker.ts';
import type { LeaseLength } from './lease-length.ts';

/** Takes statements in the order of the calls. */
export interface InTurn extends Queryable {
  /** Whether it sends a statement without waiting for the answer to the one before. */
  readonly isPipelined: boolean;
}

/** A worker as the database knows it. */
export interface RegisteredWorker {
  readonly db: Queryable;
  /** For outcomes, and for claims that follow them. */
  readonly inTurn: InTurn;
  readonly workerId: number;
  /** How long it leases the tasks it claims. */
  readonly lease: LeaseLength;
}

/** A worker whose tasks end. */
export type ReportingWorker = Omit<RegisteredWorker, 'lease'>;

/** What a worker has got by registering. */
export interface FirstRegistered extends Registered {
  /** Makes its name unique. */
  readonly uniquePart: string;
}
