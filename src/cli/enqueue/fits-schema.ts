import { EXIT, TaskqError } from '../../lib/errors.ts';
import type { Context } from '../run/context.ts';
import { typeLookUp } from './known-types.ts';

/** Say what the schema of a type's handler, if it is here, has against a payload; null: nothing. */
export type FindProblem = (type: string, payload: unknown) => Promise<string | null>;

/** Make what checks payloads as an enqueue does. */
export async function problemFinder(context: Context): Promise<FindProblem> {
  const lookUp = await typeLookUp(context, 'allowed');
  return async (type, payload) => (await (await lookUp(type)).check?.(payload)) ?? null;
}

/** Throw TaskqError (exit 2) where the schema of a type's handler, if it is here, has something against a payload. */
export type CheckFits = (type: string, payload: unknown) => Promise<void>;

/** Make what checks payloads as an enqueue does. */
export async function fitsSchema(context: Context): Promise<CheckFits> {
  const find = await problemFinder(context);
  return async (type, payload) => {
    const problem = await find(type, payload);
    if (problem !== null) throw refusedPayload(type, problem);
  };
}

export function refusedPayload(type: string, problem: string): TaskqError {
  return new TaskqError('invalid_payload', `the payload does not fit ${type}: ${problem}`, {
    exitCode: EXIT.usage,
  });
}
