import type { Queryable } from '../../lib/database.ts';
import type { Registered } from '../../queue/protocol/register-worker.ts';
import type { LeaseLength } from './lease-length.ts';

/** A worker as the database knows it. */
export interface RegisteredWorker {
  readonly db: Queryable;
  readonly workerId: number;
  /** How long it leases the tasks it claims. */
  readonly lease: LeaseLength;
}

/** What a worker has got by registering. */
export interface FirstRegistered extends Registered {
  /** Makes its name unique. */
  readonly uniquePart: string;
}
