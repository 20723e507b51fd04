import { checkPayload } from '../../domain/check-payload.ts';
import type { StoredPayload } from '../../domain/payload.ts';
import { getEnds } from '../../queue/protocol/get-ends.ts';
import { refuseMisfit } from '../../queue/protocol/new-task.ts';
import type { Context } from '../run/context.ts';
import { typeLookUp } from './known-types.ts';

/**
 * Returns why the schema of a type's local handler refuses a payload; null: it accepts it, or there is no schema here.
 */
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

/** Make a check that refuses a new payload that does not fit the type of one of these tasks, as enqueue does. */
export async function payloadCheck(
  context: Context,
  payload: StoredPayload | undefined,
): Promise<(ids: readonly string[]) => Promise<void>> {
  if (payload === undefined) return async () => {};
  const check = await fitsSchema(context);
  const db = await context.database();
  return async (ids) => {
    const types = new Set((await getEnds(db, ids)).map(({ type }) => type));
    for (const type of types) await check(type, payload.value);
  };
}
