import type { EnqueueOptions } from '../domain/enqueue-options.ts';
import type { HandlerMap, PayloadOf, TypeOf } from '../domain/handler-map.ts';
import { checkedName } from '../domain/names.ts';
import type { Parent } from '../domain/workflow/step-options.ts';
import { normaliseWorkflowOptions, type WorkflowOptions } from '../domain/workflow/workflow-options.ts';
import { badOption } from '../lib/bad-option.ts';
import { TaskqError } from '../lib/errors.ts';
import type { NewTask } from '../queue/protocol/enqueue.ts';
import type { NewWorkflow, StartedWorkflow } from '../queue/protocol/run-workflow.ts';
import { known } from './known-options.ts';
import { type IsOptional, JOINING, type Joining } from './task-queue-options.ts';

/** Options of a step of a new workflow; it may wait for the steps named before it. */
export type StepOptions<Steps extends string = string> = Omit<
  EnqueueOptions,
  'workflow' | 'step' | 'after'
> & {
  /** Steps that have to end first: names, or `{ step, onDeath }`. */
  readonly after?: readonly (Steps | Parent<Steps>)[];
};

/** What `task` takes after the type. */
export type StepArguments<Payload, Steps extends string> =
  IsOptional<Payload> extends true
    ? [payload?: Payload, options?: StepOptions<Steps>]
    : [payload: Payload, options?: StepOptions<Steps>];

export type StartSettings = Omit<Joining, 'notifyDone'>;

/** The same, untyped, and possibly omitted. */
export type GivenSettings = { readonly [Name in keyof StartSettings]: StartSettings[Name] | undefined };

/** The checks for the steps of a workflow, and its start. */
export interface BuilderHost {
  taskOf(
    task: EnqueueOptions & { readonly type: string; readonly payload?: unknown },
    notifyDone?: true,
  ): NewTask | Promise<NewTask>;
  start(workflow: NewWorkflow, settings: GivenSettings): Promise<StartedWorkflow>;
}

/** A workflow under construction: add its steps, then start it. */
export interface WorkflowBuilder<Handlers extends HandlerMap, Steps extends string = never> {
  /** Adds a step: a task that starts once the steps named in `after` have ended. */
  task<Step extends string, Type extends TypeOf<Handlers>>(
    step: Step,
    type: Type,
    ...payloadAndOptions: StepArguments<PayloadOf<Handlers, Type>, Steps>
  ): WorkflowBuilder<Handlers, Steps | Step>;

  /**
   * Starts the workflow and returns its id and those of its tasks, by step: all of it, in one transaction or in that of
   * `client`, or nothing. Throws UnknownTypeError, InvalidPayloadError, or TaskqError for an invalid option, a cycle, an
   * unknown parent, a step that is given twice, or a key that is held.
   */
  start(settings?: StartSettings & Pick<Joining, 'notifyDone'>): Promise<StartedWorkflow<Steps>>;
}

/** Collects the steps of a workflow, and checks them when it is started. */
export class QueueWorkflowBuilder<Handlers extends HandlerMap, Steps extends string = never>
  implements WorkflowBuilder<Handlers, Steps>
{
  readonly #host: BuilderHost;
  readonly #name: string;
  readonly #options: WorkflowOptions;
  readonly #steps: (EnqueueOptions & { readonly type: string; readonly payload?: unknown })[] = [];

  constructor(host: BuilderHost, name: string, options: WorkflowOptions) {
    this.#host = host;
    this.#name = checkedName('workflow', name);
    normaliseWorkflowOptions(options);
    this.#options = options;
  }

  task<Step extends string, Type extends TypeOf<Handlers>>(
    step: Step,
    type: Type,
    ...[payload, options = {}]: StepArguments<PayloadOf<Handlers, Type>, Steps>
  ): WorkflowBuilder<Handlers, Steps | Step> {
    checkedName('step', step);
    if ('workflow' in options || 'step' in options)
      throw badOption(`step "${step}": the workflow and the name are given already`);
    this.#steps.push({ ...options, step, type, payload });
    return this as unknown as WorkflowBuilder<Handlers, Steps | Step>;
  }

  async start(settings: Joining = {}): Promise<StartedWorkflow<Steps>> {
    const { client, allowUnknown, notify, notifyDone } = known(settings, JOINING);
    const steps: NewTask[] = [];
    for (const step of this.#steps) steps.push(await this.#taskOf(step, notifyDone));
    const workflow = { name: this.#name, options: normaliseWorkflowOptions(this.#options), steps };
    return this.#host.start(workflow, { client, allowUnknown, notify });
  }

  async #taskOf(step: EnqueueOptions & { readonly type: string }, notifyDone?: true): Promise<NewTask> {
    try {
      return await this.#host.taskOf(step, notifyDone);
    } catch (error) {
      if (error instanceof TaskqError) error.message = `step "${step.step}": ${error.message}`;
      throw error;
    }
  }
}
