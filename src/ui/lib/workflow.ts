/** The answer of `GET workflows`, a workflow of it. */
export interface Workflow {
  readonly id: string;
  readonly name: string;
  readonly state: WorkflowState;
  readonly isOpen: boolean;
  readonly liveSteps: number;
  readonly waitingSteps: number;
  readonly deaths: number;
  readonly failFast: boolean;
  readonly maxDead: number | null;
  readonly onEnd: { readonly type: string } | null;
  readonly onFailing: { readonly type: string } | null;
  readonly onStep: { readonly type: string } | null;
  readonly createdAt: string;
  readonly createdBy: string;
  readonly failingAt: string | null;
  readonly endedAt: string | null;
  readonly cancelRequestedAt: string | null;
  readonly cancelReason: string | null;
  /** A day; null: it has not ended. */
  readonly keptUntil: string | null;
}

/** The answer of `GET workflows/{id}`. */
export interface WorkflowDetails extends Workflow {
  readonly steps: readonly Step[];
}

export interface Step {
  readonly step: string;
  readonly taskId: string;
  readonly type: string;
  readonly queue: string;
  readonly status: string;
  /** It waits for its parents. */
  readonly waits: boolean;
  readonly attempts: number;
  readonly startedAt: string | null;
  readonly endedAt: string | null;
  readonly dueAt: string | null;
  readonly reason: string | null;
  readonly cancelledBy: string | null;
  readonly parents: readonly {
    readonly step: string;
    readonly onDeath: string;
    readonly isMet: boolean;
  }[];
}

export const WORKFLOW_STATES = ['open', 'running', 'stuck', 'completed', 'failed', 'cancelled'] as const;

export type WorkflowState = (typeof WORKFLOW_STATES)[number];

/** Whether it has steps that can still run. */
export function isLive({ state }: Workflow): boolean {
  return state === 'open' || state === 'running' || state === 'stuck';
}

/** How many steps have each status, in the order in which the statuses come up. */
export function statusCounts(steps: readonly Step[]): readonly (readonly [status: string, count: number])[] {
  const counts = new Map<string, number>();
  for (const { status } of steps) counts.set(status, (counts.get(status) ?? 0) + 1);
  return [...counts];
}
