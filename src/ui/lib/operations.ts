import { send } from './api.ts';

export type Verb = 'cancel' | 'retry' | 'edit' | 'revive' | 'rerun' | 'discard' | 'purge';

/** What a stored operation is about: the parameters of `GET tasks`, or ids, or a group of dead letters. */
export type OperationFilter = Readonly<Record<string, unknown>>;

export interface DryRun {
  readonly matched: number;
  /** There are more, too many to count. */
  readonly atLeast: boolean;
  readonly ids: readonly string[];
}

/** A verb for all tasks of a filter, which goes on without browser and server. */
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
  /** Of those that it has revived. */
  readonly deadAgain: number | null;
  readonly notEnded: number | null;
  readonly createdAt: string;
  readonly endedAt: string | null;
  readonly stoppedBecause: string | null;
  /** Why it does not get on. */
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

/** Counts what an operation would do. Throws ApiProblem. */
export function dryRun(verb: Verb, filter: OperationFilter): Promise<DryRun> {
  // An edit has to change something, whatever that is: the same tasks match.
  const changes = verb === 'edit' ? { priority: 0 } : undefined;
  return send('POST', 'operations', { verb, filter, changes, dryRun: true });
}

/** Begins an operation: with `expect` for that number of tasks, and no other. Throws ApiProblem. */
export function begin(
  verb: Verb,
  filter: OperationFilter,
  options: Readonly<Record<string, unknown>>,
): Promise<Operation> {
  return send('POST', 'operations', { verb, filter, ...options });
}
