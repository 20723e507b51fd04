import { isJsonObject } from '../lib/json.ts';

/** The answer of a SQL function, in either of its two forms: with `status`, or with `success`. */
export interface FunctionAnswer {
  /**
   * `succeeded`; or why not, in the function's own words. In the form with `success`: `succeeded`, `invalid` with a
   * `validation_failure_message`, or `failed`.
   */
  readonly status: string;
  /** Null: there is none. */
  readonly payload: unknown;
  /** Its `error` or `validation_failure_message`; null: there is none. */
  readonly message: string | null;
  /** The whole answer. */
  readonly answer: Readonly<Record<string, unknown>>;
}

export const SUCCEEDED = 'succeeded';
/** Another attempt would get the same answer: the request cannot be carried out. */
const INVALID = 'invalid';
/** Something unexpected. */
export const FAILED = 'failed';

/** Reads a function's answer. If it has neither form, returns why it cannot be read, as a sentence about the answer. */
export function readAnswer(answer: unknown): FunctionAnswer | string {
  if (answer === null || answer === undefined) return 'it is null';
  if (!isPlainObject(answer)) return `it is ${Array.isArray(answer) ? 'an array' : `a ${kindOf(answer)}`}`;
  const payload = answer.payload ?? null;
  if (typeof answer.status === 'string') {
    if (answer.status === '') return 'its status is empty';
    return { status: answer.status, payload, message: textOf(answer.error), answer };
  }
  if ('status' in answer) return 'its status is no string';
  const invalid = textOf(answer.validation_failure_message);
  if (invalid !== null) return { status: INVALID, payload, message: invalid, answer };
  if (typeof answer.success !== 'boolean') return 'it has neither a status nor success';
  const status = answer.success ? SUCCEEDED : FAILED;
  return { status, payload, message: textOf(answer.error), answer };
}

function isPlainObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return isJsonObject(value) && !(value instanceof Number);
}

function kindOf(value: unknown): string {
  return value instanceof Number ? 'number' : typeof value;
}

/** Functions write an empty message for none. */
function textOf(value: unknown): string | null {
  if (value === null || value === undefined || value === '') return null;
  return typeof value === 'string' ? value : JSON.stringify(value);
}
