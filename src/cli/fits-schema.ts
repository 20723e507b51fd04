import { EXIT, TaskqError } from '../lib/errors.ts';
import type { Context } from './context.ts';
import { typeLookUp } from './enqueue/known-types.ts';

/** Throw TaskqError (exit 2) where the schema of a type's handler, if it is here, has something against a payload. */
export type CheckFits = (type: string, payload: unknown) => Promise<void>;

/** Make what checks payloads as an enqueue does. */
export async function fitsSchema(context: Context): Promise<CheckFits> {
  const lookUp = await typeLookUp(context, 'allowed');
  return async (type, payload) => {
    const { check } = await lookUp(type);
    const problem = (await check?.(payload)) ?? null;
    if (problem !== null) throw refusedPayload(type, problem);
  };
}

export function refusedPayload(type: string, problem: string): TaskqError {
  return new TaskqError('invalid_payload', `the payload does not fit ${type}: ${problem}`, {
    exitCode: EXIT.usage,
  });
}
