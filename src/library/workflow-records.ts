import type { Callback } from '../domain/callback.ts';
import type { TaskStatus } from '../domain/task.ts';
import type { OnDeath, WorkflowState } from '../domain/workflow/state.ts';
import type { ListedWorkflow } from '../queue/inspect/list-workflows.ts';
import type { ShownStep, ShownWorkflow } from '../queue/inspect/show-workflow.ts';
import { timeOf } from './time-of.ts';

/** A workflow. */
export interface WorkflowRecord {
  /** The id: a bigint, so text. */
  readonly id: string;
  /** Its name, which need not be unique. */
  readonly name: string;
  /** Its state: what it is doing, or how it ended. */
  readonly state: WorkflowState;
  /** Steps can be added. */
  readonly isOpen: boolean;
  /** Steps that have not ended, as of the last claim that attended to it; so are the next two. */
  readonly liveSteps: number;
  /** Those of them that wait for their parents. */
  readonly waitingSteps: number;
  /** Dead, cancelled and expired steps, except those that another death has cancelled. */
  readonly deaths: number;
  /** Once more steps have died than `maxDead` allows, the remaining steps are cancelled. */
  readonly failFast: boolean;
  /** `failFast` and `onFailing` act after more deaths than this; null: not set, which means 0. */
  readonly maxDead: number | null;
  /** The task that is enqueued at its end; null: none. */
  readonly onEnd: Callback | null;
  /** The task that is enqueued once more steps have died than `maxDead` allows; null: none. */
  readonly onFailing: Callback | null;
  /** The task that is enqueued when a step has ended; null: none. */
  readonly onStep: Callback | null;
  readonly createdAt: Date;
  /** The role that created it. */
  readonly createdBy: string;
  /** When more steps had died than `maxDead` allows, and `failFast` or `onFailing` acted; null: neither has. */
  readonly failingAt: Date | null;
  /** Null: it has not ended. */
  readonly endedAt: Date | null;
  /** When its cancellation was requested; null: never. */
  readonly cancelRequestedAt: Date | null;
  /** The reason of that request. */
  readonly cancelReason: string | null;
  /** The last day on which it is kept, such as `2030-01-31`; null: it has not ended. */
  readonly keptUntil: string | null;
}

/** A workflow with its steps, in the order of their tasks. */
export interface WorkflowDetails extends WorkflowRecord {
  readonly steps: readonly StepRecord[];
}

/** A step of a workflow. */
export interface StepRecord {
  /** Its name. */
  readonly step: string;
  /** The id of its task. */
  readonly taskId: string;
  readonly type: string;
  readonly queue: string;
  /** That of its task; `gone`: its row was deleted by hand. */
  readonly status: TaskStatus | 'gone';
  /** It waits for its parents. */
  readonly waits: boolean;
  /** Failed attempts. */
  readonly attempts: number;
  /** When its last attempt started. */
  readonly startedAt: Date | null;
  readonly endedAt: Date | null;
  /** When it may start; null: it is not pending. */
  readonly dueAt: Date | null;
  /** Why it is dead or cancelled. */
  readonly reason: string | null;
  /** The parent whose death cancelled it. */
  readonly cancelledBy: string | null;
  /** In the order of their tasks. */
  readonly parents: readonly ParentRecord[];
}

/** What a step waits for. */
export interface ParentRecord {
  readonly step: string;
  /** What its death means for the step. */
  readonly onDeath: OnDeath;
  /** The step does not, or no longer, wait for it. */
  readonly isMet: boolean;
}

/** Converts a row of `taskq.list_workflows`. */
export function workflowOf(listed: ListedWorkflow): WorkflowRecord {
  const { id, name, state, deaths } = listed;
  return {
    ...{ id, name, state, deaths },
    isOpen: listed.is_open,
    liveSteps: listed.live_steps,
    waitingSteps: listed.waiting_steps,
    failFast: listed.fail_fast,
    maxDead: listed.max_dead,
    onEnd: listed.on_end,
    onFailing: listed.on_failing,
    onStep: listed.on_step,
    createdAt: new Date(listed.created_at),
    createdBy: listed.created_by,
    failingAt: timeOf(listed.failing_at),
    endedAt: timeOf(listed.ended_at),
    cancelRequestedAt: timeOf(listed.cancel_requested_at),
    cancelReason: listed.cancel_reason,
    keptUntil: listed.drop_on,
  };
}

/** Converts the answer of `taskq.show_workflow`. */
export function workflowDetailsOf(shown: ShownWorkflow): WorkflowDetails {
  return { ...workflowOf(shown), steps: shown.steps.map(stepOf) };
}

function stepOf(shown: ShownStep): StepRecord {
  const { step, type, queue, status, waits, attempts, reason, parents } = shown;
  return {
    ...{ step, taskId: shown.task_id, type, queue, status, waits, attempts },
    startedAt: timeOf(shown.started_at),
    endedAt: timeOf(shown.ended_at),
    dueAt: timeOf(shown.due_at),
    reason,
    cancelledBy: shown.cancelled_by,
    parents: parents.map(({ step, on_death: onDeath, is_met: isMet }) => ({ step, onDeath, isMet })),
  };
}
