import { parseJson } from '../lib/json.ts';
import { jsonbProblems } from '../lib/jsonb-problems.ts';
import { badOption } from './task-filter.ts';

/** Bytes of a payload's text in the database. */
export const MAX_PAYLOAD_BYTES = 1024 * 1024;

export interface Payload {
  /** As it was given: it reaches the database unchanged. */
  readonly text: string;
  readonly value: unknown;
}

/** Read a payload. Throws TaskqError (exit 2) for what is not JSON, or JSON that the database cannot keep. */
export function parsePayload(text: string, what = 'payload'): Payload {
  const value = parseJson(text);
  const problem = payloadProblem(text, value);
  if (problem !== null) throw badOption(`${what}: ${problem}`);
  return { text, value };
}

/** What keeps a payload out of the database; null: nothing. */
export function payloadProblem(text: string, value: unknown): string | null {
  if (storedBytes(text, value) > MAX_PAYLOAD_BYTES) {
    return 'larger than 1 MB; store it elsewhere and enqueue where it is';
  }
  const [first] = jsonbProblems(value);
  return first === undefined ? null : `${first.path} ${first.what}`;
}

/** The database writes `, ` and `: ` between values and no other blanks: at most twice the shortest text. */
function storedBytes(text: string, value: unknown): number {
  if (Buffer.byteLength(text) < MAX_PAYLOAD_BYTES / 2) return 0;
  const shortest = JSON.stringify(value);
  if (shortest.length > MAX_PAYLOAD_BYTES) return shortest.length;
  const separators = shortest.replaceAll(/"(?:[^"\\]|\\.)*"/g, '').replaceAll(/[^,:]/g, '').length;
  return Buffer.byteLength(shortest) + separators;
}
