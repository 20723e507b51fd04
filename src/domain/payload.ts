import { stringifyExact } from '../lib/exact-json.ts';
import { parseJson } from '../lib/json.ts';
import { jsonbProblems } from '../lib/jsonb-problems.ts';
import { messageOf } from '../lib/thrown.ts';
import { InvalidPayloadError } from './errors.ts';

/** Maximum size of a payload's text in the database, in bytes. */
export const MAX_PAYLOAD_BYTES = 1024 * 1024;

const TOO_LARGE =
  'larger than 1 MB as the database writes it; store the data elsewhere and enqueue a reference to it';

/** Returns why the database cannot store a payload, or null if it can. `value` is `text`, parsed. */
export function payloadProblem(text: string, value: unknown): string | null {
  const bytes = storedBytes(text, value);
  if (bytes === Infinity) return 'has a number with more than 16383 decimal places';
  if (bytes > MAX_PAYLOAD_BYTES) return TOO_LARGE;
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

/** The same for a value that may contain numbers as `parseExact` reads them. */
export function exactPayload(type: string, payload: unknown): StoredPayload {
  const text = jsonOf(type, payload, stringifyExact);
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

function jsonOf(
  type: string,
  payload: unknown,
  stringify: (value: unknown) => string | undefined = JSON.stringify,
): string {
  let text: string | undefined;
  try {
    text = stringify(payload);
  } catch (error) {
    throw new InvalidPayloadError(type, `it has no JSON form: ${messageOf(error)}`, error);
  }
  if (text === undefined) throw new InvalidPayloadError(type, `it has no JSON form (${typeof payload})`);
  // Before it is parsed, which takes seconds for millions of objects.
  if (text.length > MAX_PAYLOAD_BYTES) throw new InvalidPayloadError(type, TOO_LARGE);
  return text;
}

/** A number with an exponent, or what looks like one in a string. */
const EXPONENT = /(?:^|[[:,\s])-?\d[\d.]*[eE]/;
const LONG_FRACTION = /\.\d{16384}/;
const STRING = /"[^"\\]*(?:\\.[^"\\]*)*"/g;
const NUMBER = /-?\d[\d.]*(?:[eE][+-]?\d+)?/g;

/**
 * The database puts a blank after each `,` and `:` between values and no others, so that text without exponents at most
 * doubles. It writes every number without an exponent, and with the decimal places it was given: `1e308` has 309
 * digits. Returns 0 for text that is far from too long, and Infinity if a number has too many decimal places.
 */
function storedBytes(text: string, value: unknown): number {
  const isShort = Buffer.byteLength(text) < MAX_PAYLOAD_BYTES / 2;
  if (isShort && !EXPONENT.test(text) && !LONG_FRACTION.test(text)) return 0;
  const shortest = JSON.stringify(value);
  if (shortest.length > MAX_PAYLOAD_BYTES) return shortest.length;
  const structure = shortest.replaceAll(STRING, '');
  const separators = structure.replaceAll(/[^,:]/g, '').length;
  const shortNumbers = structure.match(NUMBER) ?? [];
  const givenNumbers = text.replaceAll(STRING, '').match(NUMBER) ?? [];
  if (givenNumbers.some((number) => storedLength(number) === Infinity)) return Infinity;
  // A name given twice: only the value shows what is stored, though not with all digits.
  const numbers = givenNumbers.length === shortNumbers.length ? givenNumbers : shortNumbers;
  const growth = sum(numbers.map(storedLength)) - sum(shortNumbers.map((number) => number.length));
  return Buffer.byteLength(shortest) + separators + growth;
}

/** The most decimal places of a number in the database. */
const MAX_DECIMAL_PLACES = 16_383;

/** The length of a JSON number as the database writes it. */
function storedLength(number: string): number {
  const [mantissa, exponent = '0'] = number.toLowerCase().replace(/^-/, '').split('e') as [string, string?];
  const [whole, fraction = ''] = mantissa.split('.') as [string, string?];
  const places = Math.max(0, fraction.length - Number(exponent));
  if (places > MAX_DECIMAL_PLACES) return Infinity;
  const digits = `${whole}${fraction}`;
  const leadingZeros = digits.search(/[1-9]/);
  const wholeDigits = leadingZeros === -1 ? 1 : Math.max(1, whole.length + Number(exponent) - leadingZeros);
  const sign = leadingZeros !== -1 && number.startsWith('-') ? 1 : 0;
  return sign + wholeDigits + (places > 0 ? 1 + places : 0);
}

function sum(lengths: readonly number[]): number {
  return lengths.reduce((total, length) => total + length, 0);
}
