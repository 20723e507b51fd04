import type { ClaimForm } from '../../src/domain/claim-form.ts';
import type { Session } from './session.ts';

/** A task as `taskq.claim` gives it. */
export interface Claimed {
  readonly id: string;
  readonly lease_no: number;
  readonly queue: string;
  readonly type: string;
  readonly priority: number;
  readonly available_at_us: string;
  readonly attempts: number;
  readonly losses: number;
  readonly timeout_ms: string | null;
  readonly payload: unknown;
  readonly running: boolean;
  readonly extra: object | null;
}

/** Orders tasks as claims take them. */
export const byUrgency = (a: Claimed, b: Claimed): number =>
  a.priority - b.priority ||
  Number(BigInt(a.available_at_us) - BigInt(b.available_at_us)) ||
  Number(a.id) - Number(b.id);

export interface Lease {
  readonly id: string;
  readonly lease_no: number;
}

export interface Answer extends Lease {
  readonly answer: string;
  readonly extra: Readonly<Record<string, unknown>> | null;
}

export interface Beat extends Answer {
  readonly cancel_requested: boolean | null;
  readonly cancel_reason: string | null;
}

export interface ClaimOptions {
  readonly queues?: readonly string[];
  readonly types?: readonly string[];
  /** 1 by default. */
  readonly start?: number;
  readonly ahead?: number;
  /** 22 numbers per queue; null: from the beginning. */
  readonly cursor?: readonly (number | null)[] | null;
  readonly lookBackMs?: number | null;
  /** `TASKQ_CLAIM` by default. */
  readonly form?: ClaimForm;
}

/** A worker that is nothing but a session and plain SQL. */
export interface PlainWorker {
  readonly id: number;
  readonly session: Session;
  /** In the order of their ids. */
  claim(options?: ClaimOptions): Promise<Claimed[]>;
  /** The answers by the order of the ids. */
  heartbeat(leases: readonly (Lease & { readonly started_ms?: number })[]): Promise<Beat[]>;
  settle(...outcomes: readonly object[]): Promise<Answer[]>;
  giveBack(leases: readonly Lease[], started?: boolean): Promise<Answer[]>;
}

export const LEASE_MS = 30_000;

/** Set TASKQ_CLAIM=optimistic to run the tests with claims of that form. */
const FORM: ClaimForm = process.env.TASKQ_CLAIM === 'optimistic' ? 'optimistic' : 'skip-locked';

/** Registers a worker that handles these types. */
export async function registerWorker(
  session: Session,
  types: Readonly<Record<string, object>> = { work: {} },
): Promise<PlainWorker> {
  const about = { host: 'plain', pid: 1, unique_part: 'a', lease_ms: LEASE_MS, concurrency: 8, types };
  const id = await session.value<number>(
    'select worker_id from taskq.register_worker($1)',
    JSON.stringify(about),
  );
  return workerOf(session, id);
}

/** The worker of this number, as another connection of its process. */
export function workerOf(session: Session, id: number): PlainWorker {
  return {
    id,
    session,
    claim: async ({
      queues = ['default'],
      types = ['work'],
      start = 1,
      ahead = 0,
      cursor = null,
      lookBackMs = null,
      form = FORM,
    } = {}) => {
      const asked = [id, queues, types, start, ahead, LEASE_MS, cursor, lookBackMs];
      if (form === 'skip-locked')
        return session.rows<Claimed>(
          'select * from taskq.claim($1, $2, $3, $4, $5, $6, $7, $8) order by id',
          ...asked,
        );
      const taken = await session.rows<Lease>(
        'select id, lease_no from taskq.claim_optimistic($1, $2, $3, $4, $5, $6, $7, $8)',
        ...asked,
      );
      return session.rows<Claimed>(
        'select * from taskq.get_claimed($1, $2, $3) order by id',
        id,
        taken.map((lease) => lease.id),
        taken.map((lease) => lease.lease_no),
      );
    },
    heartbeat: (leases) =>
      session.rows<Beat>(
        'select * from taskq.heartbeat($1, $2, $3, $4, $5) order by id',
        id,
        leases.map((lease) => lease.id),
        leases.map((lease) => lease.lease_no),
        leases.map((lease) => lease.started_ms ?? null),
        LEASE_MS,
      ),
    settle: (...outcomes) =>
      session.rows<Answer>(
        'select * from taskq.settle($1, $2) order by id, lease_no',
        id,
        JSON.stringify(outcomes),
      ),
    giveBack: (leases, started = true) =>
      session.rows<Answer>(
        'select * from taskq.give_back($1, $2, $3, $4) order by id, lease_no',
        id,
        leases.map((lease) => lease.id),
        leases.map((lease) => lease.lease_no),
        leases.map(() => started),
      ),
  };
}

/** Of a lease, an outcome as `taskq.settle` takes it. */
export function outcome({ id, lease_no }: Lease, kind: string, more: object = {}): object {
  return { id, lease_no, outcome: kind, ...more };
}

/** Claims exactly one task; fails where none is due. */
export async function claimOne(worker: PlainWorker, options: ClaimOptions = {}): Promise<Claimed> {
  const [task] = await worker.claim({ ...options, start: options.ahead ? 0 : 1 });
  if (task === undefined) throw new Error('no task is due');
  return task;
}
