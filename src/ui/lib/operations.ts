import { send } from './api.ts';

export type Verb = 'cancel' | 'retry' | 'edit' | 'revive' | 'rerun' | 'discard' | 'purge';

/** The tasks of a stored operation: the parameters of `GET tasks`, or ids, or a group of dead letters. */
export type OperationFilter = Readonly<Record<string, unknown>>;

export interface DryRun {
  readonly matched: number;
  /** There are more, too many to count. */
  readonly atLeast: boolean;
  readonly ids: readonly string[];
}

/** A verb for all tasks of a filter, which continues without browser and server. */
export interface Operation {
  readonly id: string;
  readonly verb: string;
  readonly filter: unknown;
  readonly by: string | null;
  readonly reason: string | null;
  readonly state: OperationState;
  readonly matched: number;
  /** There may be more than `matched`. */
  readonly atLeast: boolean;
  readonly done: number;
  readonly skipped: number;
  readonly failed: number;
  readonly failures: readonly {
    readonly id: string;
    readonly answer: string;
    readonly error: string | null;
  }[];
  /** How many of the tasks that it revived died again. */
  readonly deadAgain: number | null;
  readonly notEnded: number | null;
  readonly createdAt: string;
  readonly endedAt: string | null;
  readonly stoppedBecause: string | null;
  /** Why it does not progress. */
  readonly trouble: string | null;
  readonly rate: string | null;
  readonly canary: number | null;
  readonly stopAt: string | null;
}

export const OPERATION_STATES = ['running', 'canary', 'completed', 'stopped', 'failed'] as const;

export type OperationState = (typeof OPERATION_STATES)[number];

export function isGoingOn({ state }: Operation): boolean {
  return state === 'running' || state === 'canary';
}

/** Counts the tasks that an operation would act on. Throws ApiProblem. */
export function dryRun(verb: Verb, filter: OperationFilter): Promise<DryRun> {
  // An edit must change something; which change does not matter for the matching tasks.
  const changes = verb === 'edit' ? { priority: 0 } : undefined;
  return send('POST', 'operations', { verb, filter, changes, dryRun: true });
}

/** Begins an operation; with `expect`, only if exactly that many tasks match. Throws ApiProblem. */
export function begin(
  verb: Verb,
  filter: OperationFilter,
  options: Readonly<Record<string, unknown>>,
): Promise<Operation> {
  return send('POST', 'operations', { verb, filter, ...options });
}
