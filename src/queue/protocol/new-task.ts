import { checkPayload } from '../../domain/check-payload.ts';
import { InvalidPayloadError } from '../../domain/errors.ts';
import type { StoredPayload } from '../../domain/payload.ts';
import type { StandardSchema } from '../../domain/standard-schema.ts';
import type { NewTask } from './enqueue.ts';

/**
 * Makes the task to send from parts that were checked separately, and checks the payload against the schema of its
 * type: synchronously if there is none. (Awaiting each of a million tasks would take longer than checking them.) Throws
 * InvalidPayloadError.
 */
export function newTask(
  type: string,
  { text, value }: StoredPayload,
  options: NonNullable<NewTask['options']>,
  schema: StandardSchema | undefined,
): NewTask | Promise<NewTask> {
  const task = { type, payload: text, options };
  return schema === undefined ? task : refuseMisfit(type, schema, value).then(() => task);
}

/** Checks a payload against the schema of a type; without one, accepts it. Throws InvalidPayloadError. */
export async function refuseMisfit(
  type: string,
  schema: StandardSchema | undefined,
  payload: unknown,
): Promise<void> {
  const checked = await checkPayload(schema, payload);
  if ('problem' in checked) throw new InvalidPayloadError(type, checked.problem);
}
