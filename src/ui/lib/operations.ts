import { send } from './api.ts';

export type Verb = 'cancel' | 'retry' | 'revive' | 'rerun' | 'discard' | 'purge' | 'edit';

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
  readonly state: 'running' | 'canary' | 'completed' | 'stopped' | 'failed';
  readonly matched: number;
  readonly done: number;
}

/** Counts what an operation would do. Throws ApiProblem. */
export function dryRun(verb: Verb, filter: OperationFilter): Promise<DryRun> {
  return send('POST', 'operations', { verb, filter, dryRun: true });
}

/** Begins an operation: with `expect` for that number of tasks, and no other. Throws ApiProblem. */
export function begin(
  verb: Verb,
  filter: OperationFilter,
  options: Readonly<Record<string, unknown>>,
): Promise<Operation> {
  return send('POST', 'operations', { verb, filter, ...options });
}
