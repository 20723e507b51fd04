import type { Queryable } from '../../lib/database.ts';
import type { LeaseLength } from './lease-length.ts';

/** A worker as the database knows it. */
export interface RegisteredWorker {
  readonly db: Queryable;
  readonly workerId: number;
  /** For how long it leases what it claims. */
  readonly lease: LeaseLength;
}
