import { isNativeError } from 'node:util/types';
import { type StoredError, storableError, withoutFrames } from '../../domain/storable-error.ts';
import { isObject, read } from '../../lib/thrown.ts';
import { isCaller } from './is-caller.ts';

/**
 * Returns the fields of a log line as a handler gave them; an untyped one may pass any value. An error becomes its
 * name, message, stack, code and cause, since JSON has none of them; given instead of fields it is the field `error`,
 * and another value that has no fields is the field `value`. Leaves out what cannot be read: a log line must not fail
 * the attempt.
 */
export function fieldsOf(given: unknown): Record<string, unknown> {
  if (given === undefined || given === null) return {};
  if (isError(given)) return { error: described(given) };
  if (!isObject(given) || Array.isArray(given)) return { value: given };
  const fields = copied(given);
  for (const [name, value] of Object.entries(fields)) if (isError(value)) fields[name] = described(value);
  return fields;
}

/** From the handler's own lines on, as the error with which an attempt ends. */
function described(error: unknown): StoredError {
  return withoutFrames(storableError(error), isCaller);
}

/** Also one of another realm, or of a class of the platform such as DOMException. */
function isError(value: unknown): boolean {
  try {
    return isNativeError(value) || value instanceof Error;
  } catch {
    return false;
  }
}

function copied(fields: object): Record<string, unknown> {
  try {
    return { ...fields };
  } catch {
    return copiedEach(fields);
  }
}

function copiedEach(fields: object): Record<string, unknown> {
  try {
    return Object.fromEntries(Object.keys(fields).map((name) => [name, read(fields, name)]));
  } catch {
    return {};
  }
}
