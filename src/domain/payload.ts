import { parseJson } from '../lib/json.ts';
import { jsonbProblems } from '../lib/jsonb-problems.ts';
import { messageOf } from '../lib/thrown.ts';
import { InvalidPayloadError } from './errors.ts';

/** Maximum size of a payload's text in the database, in bytes. */
export const MAX_PAYLOAD_BYTES = 1024 * 1024;

/** Returns why the database cannot store a payload, or null if it can. `value` is `text`, parsed. */
export function payloadProblem(text: string, value: unknown): string | null {
  if (storedBytes(text, value) > MAX_PAYLOAD_BYTES) {
    return 'larger than 1 MB; store the data elsewhere and enqueue a reference to it';
  }
  const [first] = jsonbProblems(value);
  return first === undefined ? null : `${first.path} ${first.what}`;
}

/** A payload as stored: JSON text, and its value. */
export interface StoredPayload {
  readonly text: string;
  readonly value: unknown;
}

/** Converts a payload to what the database stores; undefined becomes `{}`. Throws InvalidPayloadError. */
export function storedPayload(type: string, payload: unknown = {}): StoredPayload {
  const text = jsonOf(type, payload);
  return storablePayload(type, { text, value: JSON.parse(text) });
}

/** Reads a payload from JSON text, which the database will get unchanged. Throws JsonError or InvalidPayloadError. */
export function parsePayload(type: string, text: string): StoredPayload {
  return storablePayload(type, { text, value: parseJson(text) });
}

/** Returns the payload if the database can store it. Throws InvalidPayloadError. */
export function storablePayload(type: string, payload: StoredPayload): StoredPayload {
  const problem = payloadProblem(payload.text, payload.value);
  if (problem !== null) throw new InvalidPayloadError(type, problem);
  return payload;
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

/** The database puts a blank after each `,` and `:` between values and no others: at most twice the shortest text. */
function storedBytes(text: string, value: unknown): number {
  if (Buffer.byteLength(text) < MAX_PAYLOAD_BYTES / 2) return 0;
  const shortest = JSON.stringify(value);
  if (shortest.length > MAX_PAYLOAD_BYTES) return shortest.length;
  const separators = shortest.replaceAll(/"(?:[^"\\]|\\.)*"/g, '').replaceAll(/[^,:]/g, '').length;
  return Buffer.byteLength(shortest) + separators;
}
