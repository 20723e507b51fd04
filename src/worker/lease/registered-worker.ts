import type { Queryable } from '../../lib/database.ts';
import type { Registered } from '../../queue/protocol/register-worker.ts';
import type { LeaseLength } from './lease-length.ts';

/** One connection, which takes statements in the order of the calls, each without waiting for the answer before. */
export interface Pipeline extends Queryable {
  /** Whether a statement sees what the ones before it did. Behind a pooler, another server may run it. */
  readonly canBeFollowed: boolean;
}

/** A worker as the database knows it. */
export interface RegisteredWorker {
  readonly db: Queryable;
  /** For outcomes that may free slots of groups, and for claims that follow them. */
  readonly pipeline: Pipeline;
  readonly workerId: number;
  /** How long it leases the tasks it claims. */
  readonly lease: LeaseLength;
}

/** What reporting needs of a worker. */
export type ReportingWorker = Omit<RegisteredWorker, 'lease'>;

/** What a worker has got by registering. */
export interface FirstRegistered extends Registered {
  /** Makes its name unique. */
  readonly uniquePart: string;
}
