import { jsonbProblems } from '../lib/jsonb-problems.ts';
import { InvalidPayloadError } from './errors.ts';
import { messageOf } from './thrown.ts';

/** Bytes of a payload's text in the database. */
export const MAX_PAYLOAD_BYTES = 1024 * 1024;

/** What keeps a payload out of the database; null: nothing. `value` is what `text` says. */
export function payloadProblem(text: string, value: unknown): string | null {
  if (storedBytes(text, value) > MAX_PAYLOAD_BYTES) {
    return 'larger than 1 MB; store the data elsewhere and enqueue a reference to it';
  }
  const [first] = jsonbProblems(value);
  return first === undefined ? null : `${first.path} ${first.what}`;
}

/** A payload as it is stored: JSON text, and what that says. */
export interface StoredPayload {
  readonly text: string;
  readonly value: unknown;
}

/** Write a payload as the database can keep it; undefined is `{}`. Throws InvalidPayloadError. */
export function storedPayload(type: string, payload: unknown = {}): StoredPayload {
  const text = jsonOf(type, payload);
  const value: unknown = JSON.parse(text);
  const problem = payloadProblem(text, value);
  if (problem !== null) throw new InvalidPayloadError(type, problem);
  return { text, value };
}

function jsonOf(type: string, payload: unknown): string {
  let text: string | undefined;
  try {
    text = JSON.stringify(payload);
  } catch (error) {
    throw new InvalidPayloadError(type, `it has no JSON form: ${messageOf(error)}`, error);
  }
  if (text === undefined) throw new InvalidPayloadError(type, `it has no JSON form (${typeof payload})`);
  return text;
}

/** The database writes `, ` and `: ` between values and no other blanks: at most twice the shortest text. */
function storedBytes(text: string, value: unknown): number {
  if (Buffer.byteLength(text) < MAX_PAYLOAD_BYTES / 2) return 0;
  const shortest = JSON.stringify(value);
  if (shortest.length > MAX_PAYLOAD_BYTES) return shortest.length;
  const separators = shortest.replaceAll(/"(?:[^"\\]|\\.)*"/g, '').replaceAll(/[^,:]/g, '').length;
  return Buffer.byteLength(shortest) + separators;
}
