import { isObject, printed, read } from '../lib/thrown.ts';
import { STORABLE_LIMITS, type StorableLimits, shortText } from './storable.ts';
import { storableResult } from './storable-result.ts';

/** An error as stored in `taskq.task_errors.error` and `taskq.dead_tasks.error`. */
export interface StoredError {
  readonly name: string;
  readonly message: string;
  readonly stack: string | null;
  readonly code: string | null;
  readonly cause: StoredError | null;
}

/**
 * Converts any thrown value to an error whose JSON text PostgreSQL's jsonb accepts, at most `limits.errorBytes` long.
 * Cuts long parts and keeps at most five causes; NUL characters and lone surrogates become U+FFFD. The first error of
 * an AggregateError is its cause if it has none. A value that is not an error becomes a message; its name is its class
 * or `NonError`. Never throws.
 */
export function storableError(thrown: unknown, limits: StorableLimits = STORABLE_LIMITS): StoredError {
  for (let share = 1; share > 1 / 64; share /= 2) {
    const json = JSON.stringify(described(thrown, [], share));
    // Parsed again: otherwise a part of the result would keep alive the 300 MB that it was cut from.
    if (Buffer.byteLength(json) <= limits.errorBytes) return JSON.parse(json);
  }
  return { ...UNREADABLE, message: 'an error too large to be stored' };
}

const MAX_CAUSES = 5;
const UNREADABLE: StoredError = {
  name: 'NonError',
  message: 'an unreadable value',
  stack: null,
  code: null,
  cause: null,
};

/** `share` of the usual lengths; `seen` are the errors that this one caused. */
function described(thrown: unknown, seen: readonly unknown[], share: number): StoredError {
  try {
    return isErrorLike(thrown) ? errorOf(thrown, seen, share) : nonErrorOf(thrown, share);
  } catch {
    return UNREADABLE;
  }
}

/** Recognized by shape: it may come from another realm, or be another library's kind of error. */
function isErrorLike(thrown: unknown): thrown is object {
  return isObject(thrown) && typeof read(thrown, 'message') === 'string';
}

function errorOf(error: object, seen: readonly unknown[], share: number): StoredError {
  const part = share / (1 + seen.length);
  const message = read(error, 'message') as string;
  const stack = read(error, 'stack');
  const code = read(error, 'code');
  return {
    name: shortText(nameOf(error), 100),
    message: shortText(message, 2000 * part),
    stack: typeof stack === 'string' ? shortText(framesFirst(stack, 200), 4000 * part) : null,
    code: typeof code === 'string' || typeof code === 'number' ? shortText(String(code), 100) : null,
    cause: causeOf(error, [...seen, error], share),
  };
}

function nameOf(error: object): string {
  const name = read(error, 'name');
  if (typeof name === 'string' && name !== '') return name;
  const made = read(read(error, 'constructor'), 'name');
  return typeof made === 'string' && made !== '' ? made : 'Error';
}

/**
 * Removes from a stack the frames of the code that called the handler, all frames below them, and those of our
 * functions that the handler called: the rest begins with the handler's own line. A stack without such a line stays as
 * it is.
 */
export function withoutFrames(error: StoredError, isCaller: (line: string) => boolean): StoredError {
  const cause = error.cause && withoutFrames(error.cause, isCaller);
  const lines = error.stack?.split('\n') ?? [];
  const first = lines.findIndex((line) => /^ +at /.test(line));
  const own = lines.findIndex((line, n) => n >= first && !isCaller(line));
  if (first === -1 || own === -1) return { ...error, cause };
  const end = lines.findIndex((line, n) => n > own && isCaller(line));
  const kept = [...lines.slice(0, first), ...lines.slice(own, end === -1 ? undefined : end)];
  return { ...error, stack: kept.join('\n'), cause };
}

/** A stack begins with the message; a long one would leave no room for the frames. */
function framesFirst(stack: string, headLength: number): string {
  const frames = stack.indexOf('\n    at ');
  return frames > headLength ? `${stack.slice(0, headLength)}…${stack.slice(frames)}` : stack;
}

function causeOf(error: object, seen: readonly unknown[], share: number): StoredError | null {
  const cause = read(error, 'cause') ?? read(read(error, 'errors'), 0);
  if (cause === undefined || cause === null || seen.includes(cause) || seen.length > MAX_CAUSES) return null;
  return described(cause, seen, share);
}

function nonErrorOf(thrown: unknown, share: number): StoredError {
  const name = typeof thrown === 'object' && thrown !== null ? classNameOf(thrown) : 'NonError';
  return { ...UNREADABLE, name: shortText(name, 100), message: shortText(valueText(thrown), 2000 * share) };
}

function classNameOf(thrown: object): string {
  const made = read(read(thrown, 'constructor'), 'name');
  return typeof made === 'string' && made !== '' && made !== 'Object' ? made : 'NonError';
}

function valueText(thrown: unknown): string {
  if (typeof thrown === 'string') return thrown;
  if (typeof thrown === 'function') return 'a function';
  if (!isObject(thrown)) return printed(thrown);
  const { json, note } = storableResult(thrown, { ...STORABLE_LIMITS, resultBytes: 4096 });
  return json ?? note?.head ?? '';
}
