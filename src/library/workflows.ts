import { WaitDeadlineError } from '../domain/errors.ts';
import { checkedName } from '../domain/names.ts';
import { checkedWorkflowId } from '../domain/task-id.ts';
import { checkedState, type WorkflowState } from '../domain/workflow/state.ts';
import { normaliseWorkflowOptions, type WorkflowOptions } from '../domain/workflow/workflow-options.ts';
import type { Queryable } from '../lib/database.ts';
import { toDurationMs } from '../lib/duration.ts';
import { TaskqError } from '../lib/errors.ts';
import type { PgClient } from '../lib/pg-client.ts';
import type { ListedWorkflow } from '../queue/inspect/list-workflows.ts';
import type { CancelWorkflowAnswer } from '../queue/operate/cancel-workflow.ts';
import type { RetriedStep } from '../queue/operate/retry-workflow.ts';
import type { Waited, WaitLimits } from '../queue/protocol/end-waiter.ts';
import type { WorkflowEndRow } from '../queue/protocol/get-workflow-ends.ts';
import type { NewWorkflow, StartedWorkflow } from '../queue/protocol/run-workflow.ts';
import type { ActingSettings } from './acting-settings.ts';
import { ACTING, known } from './known-options.ts';
import { WAIT, type WaitOptions } from './task-queue-options.ts';
import type { GivenSettings, StartSettings } from './workflow-builder.ts';
import {
  type WorkflowDetails,
  type WorkflowRecord,
  workflowDetailsOf,
  workflowOf,
} from './workflow-records.ts';

/** How a workflow ended. */
export interface WorkflowEnd {
  readonly id: string;
  readonly name: string;
  /** `completed`, `failed` or `cancelled`. */
  readonly state: WorkflowState;
  /** How many steps have ended in each way, such as `{ completed: 3, dead: 1 }`. */
  readonly steps: Readonly<Record<string, number>>;
}

/** The result for a step that had died. */
export type RetriedStepRecord = Omit<RetriedStep, 'task_id'> & {
  /** The id of its task. */
  readonly taskId: string;
};

export interface WorkflowFilter {
  /** Only those in this state. */
  readonly state?: WorkflowState;
}

/** The connection of a queue. */
export interface WorkflowsHost {
  /** Runs in the transaction of the caller's client, if there is one. */
  withDatabase<T>(work: (db: Queryable) => Promise<T>, client?: PgClient): Promise<T>;
  /** Waits for the end of a workflow. */
  waitFor(id: string, limits: WaitLimits): Promise<Waited<WorkflowEndRow>>;
  /** The types of its handlers. */
  knownTypes(): readonly string[];
}

/**
 * The workflows of a queue: tasks that wait for each other. For the id of no workflow, because there never was one or
 * it outlived its retention, `show` returns undefined; `close`, `cancel`, `retry` and `wait` throw TaskqError
 * `no_such_workflow`.
 */
export interface Workflows {
  /**
   * Starts an open workflow without steps; `enqueue` adds them, with the option `workflow`. Returns its id. Throws
   * UnknownTypeError, or TaskqError for an invalid name or option.
   */
  open(name: string, options?: Omit<WorkflowOptions, 'open'> & StartSettings): Promise<string>;

  /**
   * Closes an open workflow: it takes no more steps, and ends once all of its steps have. Returns false if it was closed
   * already. Waits at most a second for the transactions that add steps.
   */
  close(id: string, settings?: ActingSettings): Promise<boolean>;

  /** Iterates over workflows, newest first. */
  list(filter?: WorkflowFilter): AsyncIterable<WorkflowRecord>;

  /** Returns a workflow with its steps; undefined: there is none. */
  show(id: string): Promise<WorkflowDetails | undefined>;

  /**
   * Cancels a workflow: ends the steps that no worker holds, notifies the workers of the others, and refuses further
   * steps. Returns `cancelled`; `requested` while steps still run; `not_live` if it has ended.
   */
  cancel(
    id: string,
    settings?: { readonly reason?: string | null; readonly by?: string },
  ): Promise<CancelWorkflowAnswer>;

  /**
   * Runs the dead, cancelled and expired steps again, under their ids and with their options; those whose parents return
   * wait for them again. Withdraws the cancel request of steps that still run: see `ending`. Returns the result for
   * each; empty if none has died or had a cancel request.
   */
  retry(id: string, settings?: ActingSettings): Promise<readonly RetriedStepRecord[]>;

  /**
   * Waits until a workflow has ended and returns how; one that is stuck has not. Throws WaitDeadlineError after
   * `timeout` (the workflow continues), or the signal's reason.
   */
  wait(id: string, options?: WaitOptions): Promise<WorkflowEnd>;
}

/** Runs the verbs of workflows with the connection of a queue. */
export class QueueWorkflows implements Workflows {
  readonly #host: WorkflowsHost;

  constructor(host: WorkflowsHost) {
    this.#host = host;
  }

  async open(
    name: string,
    { client, allowUnknown, notify, ...options }: Omit<WorkflowOptions, 'open'> & StartSettings = {},
  ): Promise<string> {
    const workflow = {
      name: checkedName('workflow', name),
      options: { ...normaliseWorkflowOptions(options), open: true },
      steps: [],
    };
    return (await this.start(workflow, { client, allowUnknown, notify })).id;
  }

  async close(id: string, acting: ActingSettings = {}): Promise<boolean> {
    checkedWorkflowId(id);
    known(acting, ACTING);
    const { closeWorkflow } = await import('../queue/operate/close-workflow.ts');
    return this.#host
      .withDatabase((db) => closeWorkflow(db, id, acting))
      .catch((error: unknown) => {
        const { constraint } = Object(error instanceof TaskqError ? error.cause : error) as {
          constraint?: unknown;
        };
        throw constraint === 'the_workflow_exists' ? noSuchWorkflow(id) : error;
      });
  }

  /** Starts a workflow that was built. */
  async start(
    workflow: NewWorkflow,
    { client, allowUnknown, notify }: GivenSettings,
  ): Promise<StartedWorkflow> {
    const { runWorkflow } = await import('../queue/protocol/run-workflow.ts');
    const settings = { allowUnknown: allowUnknown ?? this.#host.knownTypes(), notify };
    return this.#host.withDatabase((db) => runWorkflow(db, workflow, settings), client);
  }

  list(filter: WorkflowFilter = {}): AsyncGenerator<WorkflowRecord, void, undefined> {
    return this.#list(known(filter, { state: true }));
  }

  async *#list({ state }: WorkflowFilter): AsyncGenerator<WorkflowRecord, void, undefined> {
    if (state !== undefined) checkedState(state);
    const { listWorkflows } = await import('../queue/inspect/list-workflows.ts');
    for (let last: ListedWorkflow | undefined; ; ) {
      const options = { after: last?.id ?? null, state, limit: PAGE };
      const found = await this.#host.withDatabase((db) => listWorkflows(db, options));
      yield* found.map(workflowOf);
      last = found.at(-1);
      if (last === undefined || found.length < PAGE) return;
    }
  }

  async show(id: string): Promise<WorkflowDetails | undefined> {
    checkedWorkflowId(id);
    const { showWorkflow } = await import('../queue/inspect/show-workflow.ts');
    const shown = await this.#host.withDatabase((db) => showWorkflow(db, id));
    return shown && workflowDetailsOf(shown);
  }

  async cancel(
    id: string,
    settings: { readonly reason?: string | null; readonly by?: string } = {},
  ): Promise<CancelWorkflowAnswer> {
    checkedWorkflowId(id);
    const { reason = null, by } = known(settings, ACTING);
    const { cancelWorkflow } = await import('../queue/operate/cancel-workflow.ts');
    const answer = await this.#host.withDatabase((db) => cancelWorkflow(db, id, { reason, by }));
    if (answer.answer === 'not_live' && answer.state === null) throw noSuchWorkflow(id);
    return answer;
  }

  async retry(id: string, acting: ActingSettings = {}): Promise<readonly RetriedStepRecord[]> {
    checkedWorkflowId(id);
    known(acting, ACTING);
    const { retryWorkflow } = await import('../queue/operate/retry-workflow.ts');
    const steps = await this.#host.withDatabase((db) => retryWorkflow(db, id, acting));
    if (steps.length === 0 && (await this.show(id)) === undefined) throw noSuchWorkflow(id);
    return steps.map(({ task_id: taskId, ...step }) => ({ ...step, taskId }));
  }

  async wait(id: string, options: WaitOptions = {}): Promise<WorkflowEnd> {
    checkedWorkflowId(id);
    const { timeout, signal } = known(options, WAIT);
    const timeoutMs = timeout === undefined ? undefined : toDurationMs(timeout, 'timeout');
    const waited = await this.#host.waitFor(id, { signal, ...(timeoutMs !== undefined && { timeoutMs }) });
    if (waited.kind === 'deadline') throw new WaitDeadlineError(id, 'workflow');
    if (waited.kind === 'gone') throw noSuchWorkflow(id);
    const { name, state, steps } = waited.end;
    return { id, name, state, steps: steps ?? {} };
  }
}

function noSuchWorkflow(id: string): TaskqError {
  return new TaskqError('no_such_workflow', `no workflow ${id}: it never was, or outlived its retention`);
}

const PAGE = 100;
