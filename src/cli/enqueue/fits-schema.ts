import { checkPayload } from '../../domain/check-payload.ts';
import { refuseMisfit } from '../../queue/protocol/new-task.ts';
import type { Context } from '../run/context.ts';
import { typeLookUp } from './known-types.ts';

/** Says why the schema of a type's local handler refuses a payload; null: it accepts it, or there is none here. */
export type FindProblem = (type: string, payload: unknown) => Promise<string | null>;

/** Make a function that checks payloads as enqueue does. */
export async function problemFinder(context: Context): Promise<FindProblem> {
  const lookUp = await typeLookUp(context, 'allowed');
  return async (type, payload) => {
    const checked = await checkPayload((await lookUp(type)).schema, payload);
    return 'problem' in checked ? checked.problem : null;
  };
}

/** Throws InvalidPayloadError (exit 2) where the schema of a type's local handler refuses a payload. */
export type CheckFits = (type: string, payload: unknown) => Promise<void>;

/** Make a function that checks payloads as enqueue does. */
export async function fitsSchema(context: Context): Promise<CheckFits> {
  const lookUp = await typeLookUp(context, 'allowed');
  return async (type, payload) => refuseMisfit(type, (await lookUp(type)).schema, payload);
}
