import type { Queryable } from '../../lib/database.ts';

/** What a worker must know before it claims. */
export interface StoredContext {
  /** The queues that have a live task, by name; null: not requested. */
  readonly queues: readonly string[] | null;
  readonly typeTimeouts: Readonly<Record<string, number>>;
  readonly queueTimeouts: Readonly<Record<string, number>>;
  /** Null: an attempt has no time limit. */
  readonly timeoutMs: number | null;
  /** The types that keep the log of every attempt. */
  readonly alwaysLogged: readonly string[];
  /** When the breakers of types open, by type. */
  readonly breakers: Readonly<Record<string, BreakerLimit>>;
  /** The queues whose groups stop at a dead letter. */
  readonly holdingQueues: readonly string[];
}

/** A breaker opens after this many failures within this time. */
export interface BreakerLimit {
  readonly failures: number;
  readonly within_ms: number;
}

/** The document that `taskq.claim_context` returns. */
export interface ContextDocument {
  readonly queues: string[] | null;
  readonly type_timeouts: Record<string, number>;
  readonly queue_timeouts: Record<string, number>;
  readonly timeout_ms: number | null;
  readonly always_logged: string[];
  readonly breakers: Record<string, BreakerLimit>;
  readonly holding_queues: string[];
}

export interface ContextOptions {
  /** False: return only the timeouts. */
  readonly queues?: false;
}

/** Read which queues have tasks and which timeouts apply. */
export async function readClaimContext(
  db: Queryable,
  types: readonly string[],
  options: ContextOptions = {},
): Promise<StoredContext> {
  const rows = await db.query<{ context: ContextDocument }>({
    name: 'taskq_claim_context',
    text: 'select taskq.claim_context($1, $2) as context',
    values: [types, JSON.stringify(options)],
  });
  return contextOf(rows[0]!.context);
}

export function contextOf(found: ContextDocument): StoredContext {
  return {
    queues: found.queues,
    typeTimeouts: found.type_timeouts,
    queueTimeouts: found.queue_timeouts,
    timeoutMs: found.timeout_ms,
    alwaysLogged: found.always_logged,
    breakers: found.breakers,
    holdingQueues: found.holding_queues,
  };
}
