import { payloadProblem } from '../../domain/payload.ts';
import { parseJson } from '../../lib/json.ts';
import { badOption } from '../run/bad-option.ts';

export interface Payload {
  /** The text as given: it reaches the database unchanged. */
  readonly text: string;
  readonly value: unknown;
}

/** Read a payload. Throws TaskqError (exit 2) for invalid JSON, or JSON that the database cannot store. */
export function parsePayload(text: string, what = 'payload'): Payload {
  const value = parseJson(text);
  const problem = payloadProblem(text, value);
  if (problem !== null) throw badOption(`${what}: ${problem}`);
  return { text, value };
}
