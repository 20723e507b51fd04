import { EXIT, TaskqError } from '../../lib/errors.ts';
import type { Context } from '../run/context.ts';
import { typeLookUp } from './known-types.ts';

/** Says why the schema of a type's local handler refuses a payload; null: it accepts it, or there is none here. */
export type FindProblem = (type: string, payload: unknown) => Promise<string | null>;

/** Make a function that checks payloads as enqueue does. */
export async function problemFinder(context: Context): Promise<FindProblem> {
  const lookUp = await typeLookUp(context, 'allowed');
  return async (type, payload) => (await (await lookUp(type)).check?.(payload)) ?? null;
}

/** Throws TaskqError (exit 2) where the schema of a type's local handler refuses a payload. */
export type CheckFits = (type: string, payload: unknown) => Promise<void>;

/** Make a function that checks payloads as enqueue does. */
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
