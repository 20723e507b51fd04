import type { Completed, Outcome, RunAgain } from '../../domain/outcome.ts';
import type { StoredError } from '../../domain/storable-error.ts';
import { type Lease, leaseKey, type TaskStatus } from '../../domain/task.ts';
import type { Queryable } from '../../lib/database.ts';

export interface Settlement extends Lease {
  readonly outcome: Outcome;
  /** Milliseconds since the task started; null: it never did. */
  readonly ranMs: number | null;
}

/** The new state of a task that failed or was snoozed. */
export interface Consequence {
  /** `completed`: by a setting of its type, a failure completes it. */
  readonly status: 'pending' | 'dead' | 'cancelled' | 'completed';
  readonly attempts: number;
  readonly retry_in_ms?: number;
  readonly reason?: string;
  /** Why its follow-ups were refused. */
  readonly error?: StoredError;
}

export interface SettleAnswer {
  /**
   * `already`: a repeat, that attempt has an outcome. `lost`: the lease is no longer ours, or the row is gone. `busy`:
   * another transaction has the row locked; ask again.
   */
  readonly answer: 'recorded' | 'already' | 'lost' | 'busy';
  /** Null for a task that has completed. */
  readonly consequence: Consequence | null;
  /** After a repeat or a loss, the task's present status; absent: it is gone. */
  readonly status?: TaskStatus;
}

interface Row {
  readonly id: string;
  readonly lease_no: number;
  readonly answer: SettleAnswer['answer'];
  readonly extra: Consequence | null;
}

/** A successful outcome, as nearly all are. */
type Success = Settlement & { readonly outcome: Completed };

export interface SettleOptions {
  /** The id of a task that was `busy`: wait for its row, for half a second at most. */
  readonly waitFor?: string | undefined;
  /** This worker claims at once, so no other worker is woken for the steps that start. */
  readonly willClaim?: boolean;
}

/**
 * Record outcomes of this worker's tasks, of all kinds in one transaction. Returns an answer for each, in their order.
 */
export async function settle(
  db: Queryable,
  workerId: number,
  settlements: readonly Settlement[],
  { waitFor, willClaim = false }: SettleOptions = {},
): Promise<SettleAnswer[]> {
  const options = waitFor === undefined ? [] : [`"wait_for":${waitFor}`];
  if (!settlements.every(isPlain)) return settleAny(db, workerId, settlements, `{${options}}`);
  if (willClaim) options.push('"will_claim":true');
  return complete(db, workerId, settlements as readonly Success[], `{${options}}`);
}

function isPlain({ outcome }: Settlement): boolean {
  return outcome.kind === 'completed' && outcome.again === undefined && outcome.followUps === undefined;
}

/**
 * Record an empty batch. Throws errors that would make any outcome fail: missing rights, a missing function, a broken
 * session.
 */
export async function settleNothing(db: Queryable, workerId: number): Promise<void> {
  await complete(db, workerId, [], '{}');
  await settleAny(db, workerId, [], '{}');
}

async function settleAny(
  db: Queryable,
  workerId: number,
  settlements: readonly Settlement[],
  options: string,
): Promise<SettleAnswer[]> {
  const haveFollowUps = settlements.some(
    ({ outcome }) => outcome.kind === 'completed' && outcome.followUps !== undefined,
  );
  const rows = await db.query<Row>({
    ...(haveFollowUps ? SETTLE_AND_ENQUEUE : SETTLE),
    values: [workerId, `[${settlements.map(asJson).join(',')}]`, options],
  });
  return inOrder(settlements, rows, ASK_AGAIN);
}

const SETTLE = {
  name: 'taskq_settle',
  text: 'select id, lease_no, answer, extra from taskq.settle($1, $2, $3)',
};
const SETTLE_AND_ENQUEUE = {
  name: 'taskq_settle_and_enqueue',
  text: 'select id, lease_no, answer, extra from taskq.settle_and_enqueue($1, $2, $3)',
};

/** Pass arrays: they cost the server half as much as JSON. The server answers only what it did not record. */
async function complete(
  db: Queryable,
  workerId: number,
  successes: readonly Success[],
  options: string,
): Promise<SettleAnswer[]> {
  const column = <T>(of: (success: Success) => T) => successes.map(of);
  const someOf = (values: (string | null)[]) => (values.some((value) => value !== null) ? values : null);
  const rows = await db.query<Row>({
    name: 'taskq_complete',
    text: 'select id, lease_no, answer, extra from taskq.complete($1, $2, $3, $4, $5, $6, $7)',
    values: [
      workerId,
      `{${column(({ id }) => id).join(',')}}`,
      `{${column(({ leaseNo }) => leaseNo).join(',')}}`,
      `{${column(({ ranMs }) => (ranMs === null ? 'null' : Math.round(ranMs))).join(',')}}`,
      someOf(column(({ outcome }) => outcome.result)),
      someOf(column(({ outcome }) => outcome.resultNote && JSON.stringify(outcome.resultNote))),
      options,
    ],
  });
  return rows.length === 0 ? successes.map(() => RECORDED) : inOrder(successes, rows, RECORDED);
}

const RECORDED: SettleAnswer = { answer: 'recorded', consequence: null };
const ASK_AGAIN: SettleAnswer = { answer: 'busy', consequence: null };

/** Put the answers in the order of the leases; `absent` for a lease without a row. */
function inOrder(leases: readonly Lease[], rows: readonly Row[], absent: SettleAnswer): SettleAnswer[] {
  const answers = new Map(
    rows.map(({ id, lease_no: leaseNo, answer, extra }) => [
      leaseKey({ id, leaseNo }),
      answer === 'recorded'
        ? { answer, consequence: extra }
        : { answer, consequence: null, ...(extra && { status: extra.status }) },
    ]),
  );
  return leases.map((lease) => answers.get(leaseKey(lease)) ?? absent);
}

/** Build one element of the array that `taskq.settle` takes. Result and follow-ups are JSON text already. */
export function asJson({ id, leaseNo, outcome, ranMs }: Settlement): string {
  const head = JSON.stringify({
    id,
    lease_no: leaseNo,
    ran_ms: ranMs === null ? null : Math.round(ranMs),
    ...fieldsOf(outcome),
    ...('resultNote' in outcome && outcome.resultNote && { result_note: outcome.resultNote }),
  });
  let text = head.slice(0, -1);
  if ('result' in outcome && outcome.result !== null) text += `,"result":${outcome.result}`;
  if (outcome.kind === 'completed' && outcome.again !== undefined)
    text += `,"again":${againJson(outcome.again)}`;
  if (outcome.kind === 'completed' && outcome.followUps !== undefined)
    text += `,"enqueue":${outcome.followUps.tasks}`;
  return `${text}}`;
}

/** The payload is JSON text already. */
function againJson({ delayMs, payload }: RunAgain): string {
  return `{"delay_ms":${delayMs}${payload === null ? '' : `,"payload":${payload}`}}`;
}

function fieldsOf(outcome: Outcome): object {
  const crashed = outcome.reportedBy === 'worker' && outcome.kind === 'failed' ? { crashed: true } : {};
  switch (outcome.kind) {
    case 'completed':
      return { outcome: 'completed' };
    case 'failed':
      return { outcome: 'failed', error: outcome.error, delay_ms: outcome.delayMs, ...crashed };
    case 'dead':
      return { outcome: 'dead', error: outcome.error, reason: outcome.reason };
    case 'snoozed':
      return { outcome: 'snoozed', delay_ms: outcome.delayMs, ...(outcome.hold && { hold: outcome.hold }) };
    case 'cancelled':
      return { outcome: 'cancelled', reason: outcome.reason, ...(outcome.killed && { killed: true }) };
    default:
      return outcome satisfies never;
  }
}
