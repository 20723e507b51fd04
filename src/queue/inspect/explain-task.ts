import type { TaskStatus } from '../../domain/task.ts';
import type { OnDeath } from '../../domain/workflow/state.ts';
import type { Queryable } from '../../lib/database.ts';
import type { WorkerObstacle } from './find-obstacles.ts';

/** What keeps a task from running, or where a held one is. `Time` is text (ISO 8601), or a Date in the library. */
export type Cause<Time> =
  /** It is due at `until`: it never started, waits for another attempt, or was snoozed by its handler. */
  | { readonly cause: 'delayed' | 'retrying' | 'snoozed'; readonly until: Time }
  /** Its time to start ran out at `at`. */
  | { readonly cause: 'expired'; readonly at: Time; readonly until: null }
  /**
   * Its handler did not report its end, as when its worker is lost, so it runs in its own process; alone: nothing else is
   * claimed with it.
   */
  | { readonly cause: 'suspect'; readonly losses: number; readonly alone: boolean }
  /** It is a step whose parents have not all ended. */
  | {
      readonly cause: 'waiting_for_parents';
      readonly workflow: string;
      readonly step: string;
      /** The first ten that it waits for; empty: a worker releases it with its next claim. */
      readonly parents: readonly AwaitedParent[];
      /** How many more there are. */
      readonly more: number;
      readonly until: null;
    }
  | {
      readonly cause: 'queue_paused';
      readonly since: Time;
      readonly by: string | null;
      readonly reason: string | null;
      /** Null: until it is resumed. */
      readonly until: Time | null;
    }
  /** Its queue runs as many tasks as may run at once. */
  | { readonly cause: 'max_running'; readonly limit: number; readonly running: number }
  /** No more tasks of its queue may start before `until`; or its group, if there is one, gets no slot for it before. */
  | {
      readonly cause: 'rate';
      readonly group?: string;
      readonly rate: string;
      readonly burst: number;
      readonly until: Time;
    }
  /** Its type failed too often; `probe` is the id of the task that tries it now. */
  | {
      readonly cause: 'breaker_open';
      readonly since: Time;
      /** How many failures open it; null: the setting is gone. */
      readonly failures: number | null;
      readonly probe: string | null;
      /** When the next task may try; null: not before the probe has ended, or someone resumes the type. */
      readonly until: Time | null;
    }
  | {
      readonly cause: 'group_paused';
      readonly group: string;
      readonly since: Time;
      readonly by: string | null;
      readonly reason: string | null;
      readonly until: null;
    }
  /** Its group stops at this dead letter, until that is revived or discarded. */
  | { readonly cause: 'group_held'; readonly group: string; readonly dead_task: string; readonly until: null }
  /** This task of its group has put off the whole group. */
  | {
      readonly cause: 'group_held';
      readonly group: string;
      readonly snoozed_by: string;
      readonly until: Time;
    }
  /** Others have the slots of its group, or get them first. */
  | {
      readonly cause: 'group_full';
      readonly group: string;
      readonly limit: number;
      /** The tasks that have a slot, at most ten of them. */
      readonly holders: readonly string[];
      /** How many waiting tasks of the group get a slot before it, at most 1000. */
      readonly first: number;
      /** When the first of the holders is due; null: one is, or runs. */
      readonly until: Time | null;
    }
  /** No live worker can take it; see taskq.worker_obstacles. */
  | { readonly cause: WorkerObstacle; readonly worker: number | null; readonly until: null }
  /**
   * Another transaction, of the session `pid` or `prepared`, keeps its row locked; since when is null where the owner of
   * the schema may not see it.
   */
  | {
      readonly cause: 'locked';
      readonly pid?: number;
      readonly application?: string;
      /** The name of a prepared transaction. */
      readonly prepared?: string;
      readonly role: string;
      readonly since: Time | null;
      readonly until: null;
    }
  /** Every worker that can take it had all slots in use at its last heartbeat. */
  | { readonly cause: 'slots_busy'; readonly workers: number; readonly slots: number }
  /** How many tasks of its queue are claimed first; with `more`, at least. */
  | { readonly cause: 'behind'; readonly tasks: number; readonly more: boolean }
  /** Where it is: in a slot since `since`, or claimed ahead. */
  | {
      readonly cause: 'running' | 'claimed';
      readonly worker: number;
      readonly name: string | null;
      /** Null if claimed ahead. */
      readonly since: Time | null;
    }
  /** Its attempt exceeded its timeout at `since`, and its handler has not ended. */
  | { readonly cause: 'timed_out'; readonly since: Time }
  /** The worker that holds it sends no heartbeats: others, if there are some, take the task over. */
  | {
      readonly cause: 'worker_silent';
      readonly worker: number;
      readonly name: string;
      readonly since: Time;
      /** Whether another worker is alive. */
      readonly others: boolean;
    }
  | { readonly cause: 'cancel_requested'; readonly at: Time; readonly reason: string | null }
  | { readonly cause: 'ended'; readonly at: Time; readonly reason: string | null };

/** A parent that a step waits for. */
export interface AwaitedParent {
  readonly step: string;
  /** The id of its task. */
  readonly task: string;
  /** The status of its task; an ended parent is counted by the next claim. */
  readonly status: TaskStatus | 'gone';
  readonly on_death: OnDeath;
}

/** Why a task does not run, or where it does. */
export interface Explanation<Time = string> {
  readonly id: string;
  readonly queue: string;
  readonly type: string;
  readonly status: string;
  /** From then on only slots and the tasks before it matter; null: not before someone acts or its parents end, or it does not wait. */
  readonly may_start_at: Time | null;
  /** Empty: a worker takes it with its next claim. */
  readonly causes: readonly Cause<Time>[];
}

/** Explain why a task does not run, or where it does. Undefined: no such task. */
export async function explainTask(db: Queryable, id: string): Promise<Explanation | undefined> {
  const rows = await db.query<{ explanation: Explanation | null }>({
    text: 'select taskq.explain($1) as explanation',
    values: [id],
  });
  return rows[0]!.explanation ?? undefined;
}
