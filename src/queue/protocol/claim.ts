import type { ClaimForm } from '../../domain/claim-form.ts';
import { tickOfSource } from '../../domain/schedule/tick-source.ts';
import { byUrgency, type ClaimedTask, type WorkflowPlace } from '../../domain/task.ts';
import type { Queryable } from '../../lib/database.ts';
import { messageOf } from '../../lib/thrown.ts';

/** A position in one level (queue and priority), the last task claimed there; or in the asks of groups, by time. */
export interface Position {
  readonly availableAtUs: number;
  readonly id: number;
}

/** The level of the asks of a queue's groups, after those of its priorities. */
export const ASKS = 10;
/** The levels of a queue. */
export const LEVELS = 11;

/** The positions of each queue, by level; null: not known yet. */
export type Cursor = ReadonlyMap<string, readonly (Position | null)[]>;

export interface ClaimRequest {
  readonly worker: Claimant;
  /** In the order of their turn. */
  readonly queues: readonly string[];
  readonly room: Room;
  readonly from: SearchStart;
  readonly how?: ClaimWay;
}

/** For whom tasks are claimed. */
export interface Claimant {
  readonly id: number;
  readonly types: readonly string[];
  readonly leaseMs: number;
}

/** How many tasks to claim, into slots and ahead. */
export interface Room {
  /** The number of tasks that start at once, each in a slot. */
  readonly start: number;
  /** The number of tasks to claim ahead, besides those. */
  readonly ahead: number;
}

/** Where in the levels a claim begins to search. */
export interface SearchStart {
  /** Null: a full sweep, from the beginning of every level. */
  readonly cursor: Cursor | null;
  /** Null: start exactly at the cursor. */
  readonly lookBackMs: number | null;
}

export interface ClaimWay {
  /** `optimistic`: without SKIP LOCKED, in two statements; the first has committed before the second reads. */
  readonly form?: ClaimForm;
  /** Try each row alone and skip those that the database refuses: for a claim after one that failed. */
  readonly oneByOne?: boolean;
  /** The deadline of the answer, which is useless after that; absent: the connection's own. */
  readonly deadlineMs?: number;
}

/** A task that the database refuses to lease. It stays as it is. */
export interface RefusedClaim {
  readonly id: string;
  readonly queue: string;
  readonly type: string;
  readonly error: string;
  /** SQLSTATE. */
  readonly code: string;
}

/** How far a claim has read. */
export interface Looked {
  /** The first `levels` levels, by priority and then in the order of `queues`, were read up to this time. */
  readonly toUs: number;
  readonly queues: readonly string[];
  readonly levels: number;
  /** The asks of groups were read up to this time. */
  readonly askedToUs: number;
  /** By queue, the position before the first ask that is left, if any is. */
  readonly asksLeft: ReadonlyMap<string, Position>;
  /** How many milliseconds until a queue closed by its limit opens; null: none opens by itself. */
  readonly opensInMs: number | null;
  /** A queue with a limit is full. */
  readonly isFull: boolean;
  /** A task of a limited queue, which is never claimed ahead, was left out because no slot was free. */
  readonly wantsSlot: boolean;
}

export interface Claimed {
  /** Most urgent first. Empty: nothing is due here, or others are claiming it. */
  readonly tasks: ClaimedTask[];
  /** Null: no level was read, because all queues are paused. `queues` is empty where all are closed by their limits. */
  readonly looked: Looked | null;
  /** The task tries an open breaker: it may come from any place, and the claim looked at nothing else. */
  readonly isProbe: boolean;
  /** Empty, except after a claim one by one, or where a breaker is open. */
  readonly refused: readonly RefusedClaim[];
}

export interface ClaimRow {
  readonly id: string;
  readonly lease_no: number;
  readonly queue: string;
  readonly type: string;
  readonly priority: number;
  readonly available_at_us: string;
  readonly attempts: number;
  readonly losses: number;
  readonly timeout_ms: string | null;
  readonly group_key: string | null;
  readonly payload: string;
  readonly running: boolean;
  readonly extra: {
    readonly traceparent?: string;
    readonly source?: string;
    readonly workflow?: { readonly id: string; readonly step?: string };
    readonly last_chance?: true;
  } | null;
}

/** The columns of a ClaimRow. */
export const CLAIMED = `id, lease_no, queue, type, priority, available_at_us, attempts, losses, timeout_ms, group_key,
  payload::text as payload, running, extra`;

/** The one row of a claim that is not a task. */
interface LookedRow {
  readonly id: null;
  readonly extra: {
    readonly looked_to_us: number;
    readonly queues: readonly string[];
    readonly levels: number;
    readonly asked_to_us?: number;
    readonly asks_left?: Readonly<Record<string, readonly [dueAtUs: number, id: number]>>;
    readonly refused?: readonly RefusedClaim[];
    readonly probe?: true;
    readonly limited?: Readonly<Record<string, number | null>>;
    readonly wants_slot?: true;
  };
}

/** Claim due tasks. Returns them and how far the claim has read. */
export async function claim(db: Queryable, request: ClaimRequest): Promise<Claimed> {
  const rows = await (request.how?.form === 'optimistic' ? claimOptimistically : claimRows)(db, request);
  // The row that reports how far the claim read comes last.
  const last = rows.at(-1);
  const report = last?.id === null ? last : undefined;
  const tasks = report === undefined ? rows : rows.slice(0, -1);
  const isProbe = report?.extra.probe === true;
  // The rows come in the order of the table's pages.
  return {
    tasks: (tasks as ClaimRow[])
      .map((row) => ({ ...taskOf(row), ...(isProbe && { isProbe }) }))
      .sort(byUrgency),
    looked: report === undefined ? null : lookedOf(report),
    isProbe,
    refused: report?.extra.refused ?? [],
  };
}

function claimRows(db: Queryable, request: ClaimRequest): Promise<(ClaimRow | LookedRow)[]> {
  return db.query<ClaimRow | LookedRow>({
    name: request.how?.oneByOne ? 'taskq_claim_one_by_one' : 'taskq_claim',
    text: `select ${CLAIMED} from taskq.claim($1, $2, $3, $4, $5, $6, $7, $8, '${optionsOf(request)}')`,
    ...askedOf(request),
  });
}

/** The rows of a claim, without tasks whose lease was lost between the two statements. */
async function claimOptimistically(db: Queryable, request: ClaimRequest): Promise<(ClaimRow | LookedRow)[]> {
  const taken = await db.query<Pick<ClaimRow, 'id' | 'lease_no'> | LookedRow>({
    name: request.how?.oneByOne ? 'taskq_claim_optimistic_one_by_one' : 'taskq_claim_optimistic',
    text: `select id, lease_no, extra
      from taskq.claim_optimistic($1, $2, $3, $4, $5, $6, $7, $8, '${optionsOf(request)}')`,
    ...askedOf(request),
  });
  const looked = taken.filter((row): row is LookedRow => row.id === null);
  const leases = taken.filter((row): row is Pick<ClaimRow, 'id' | 'lease_no'> => row.id !== null);
  if (leases.length === 0) return looked;
  const tasks = await db
    .query<ClaimRow>({
      name: 'taskq_get_claimed',
      text: `select ${CLAIMED} from taskq.get_claimed($1, $2, $3)`,
      values: [request.worker.id, leases.map(({ id }) => id), leases.map(({ lease_no }) => lease_no)],
      ...deadlineOf(request),
    })
    .catch((error: unknown) => {
      // Not the error itself: callers would conclude from a refusal that the claim had no effect.
      throw new Error(`the tasks of a claim could not be read: ${messageOf(error)}`, { cause: error });
    });
  return [...tasks, ...looked];
}

function optionsOf({ how }: ClaimRequest): string {
  return how?.oneByOne ? '{"looked": true, "one_by_one": true}' : '{"looked": true}';
}

function askedOf(request: ClaimRequest) {
  const { worker, queues, room, from } = request;
  return {
    values: [
      worker.id,
      queues,
      worker.types,
      room.start,
      room.ahead,
      worker.leaseMs,
      from.cursor === null ? null : flatten(from.cursor, queues, NEVER),
      from.lookBackMs,
    ],
    ...deadlineOf(request),
  };
}

function deadlineOf({ how }: ClaimRequest): { readonly deadlineMs?: number } {
  return how?.deadlineMs === undefined ? {} : { deadlineMs: how.deadlineMs };
}

function lookedOf({ extra }: LookedRow): Looked {
  const {
    looked_to_us: toUs,
    asked_to_us: askedToUs = toUs,
    asks_left = {},
    limited = {},
    queues,
    levels,
  } = extra;
  const asksLeft = new Map(
    Object.entries(asks_left).map(([queue, [availableAtUs, id]]) => [queue, { availableAtUs, id }]),
  );
  const opensUs = Object.values(limited).filter((us) => us !== null);
  const opensInMs = opensUs.length === 0 ? null : Math.max(0, Math.min(...opensUs) - toUs) / 1000;
  const isFull = opensUs.length < Object.keys(limited).length;
  return {
    toUs,
    queues,
    levels,
    askedToUs,
    asksLeft,
    opensInMs,
    isFull,
    wantsSlot: extra.wants_slot === true,
  };
}

/** Read a row of `taskq.claim` or `taskq.claim_one`. */
export function taskOf(row: ClaimRow): ClaimedTask {
  return {
    id: row.id,
    leaseNo: row.lease_no,
    type: row.type,
    queue: row.queue,
    payload: row.payload,
    priority: row.priority,
    attempts: row.attempts,
    losses: row.losses,
    hasLastChance: row.extra?.last_chance === true,
    availableAtUs: Number(row.available_at_us),
    timeoutMs: row.timeout_ms === null ? null : Number(row.timeout_ms),
    groupKey: row.group_key,
    running: row.running,
    traceparent: row.extra?.traceparent ?? null,
    tick: tickOfSource(row.extra?.source),
    workflow: placeOf(row.extra?.workflow),
  };
}

function placeOf(workflow: NonNullable<ClaimRow['extra']>['workflow']): WorkflowPlace | null {
  return workflow === undefined ? null : { id: workflow.id, step: workflow.step ?? null };
}

/** Sorts after every task: in a level without a position, a claim starts `lookBackMs` before now. */
const NEVER: Position = { availableAtUs: 8_000_000_000_000_000, id: 0 };

/** Convert a cursor to the 22 numbers per queue that `taskq.claim` takes; `unknown` fills levels without a position. */
export function flatten(
  cursor: Cursor,
  queues: readonly string[],
  unknown: Position | null,
): (number | null)[] {
  return queues.flatMap((queue) => {
    const positions = cursor.get(queue) ?? [];
    return Array.from({ length: LEVELS }, (_, level) => positions[level] ?? unknown).flatMap((position) =>
      position === null ? [null, null] : [position.availableAtUs, position.id],
    );
  });
}
