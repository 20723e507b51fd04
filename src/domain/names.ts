import { TaskqError } from '../lib/errors.ts';
import { shown } from '../lib/shown.ts';

export type NameKind = 'queue' | 'type' | 'key' | 'group' | 'tag' | 'schedule' | 'workflow' | 'step';

/**
 * Returns the name if it is valid: well-formed text without control characters or blanks at its ends, at most 200 bytes
 * (a key 500). A type must also be a relative path in the handlers' directory. Throws TaskqError `bad_name`, which
 * calls it `what`.
 */
export function checkedName(kind: NameKind, name: unknown, what: string = kind): string {
  const problem = problemOf(kind, name);
  if (problem === null) return name as string;
  throw new TaskqError('bad_name', `${what} ${shown(name)}: ${problem}`);
}

const MAX_BYTES: Record<NameKind, number> = {
  queue: 200,
  type: 200,
  key: 500,
  group: 200,
  tag: 200,
  schedule: 200,
  workflow: 200,
  step: 200,
};

function problemOf(kind: NameKind, name: unknown): string | null {
  if (typeof name !== 'string') return `expected text of 1 to ${MAX_BYTES[kind]} bytes`;
  if (name === '') return 'expected at least one character';
  if (name.length > MAX_BYTES[kind] || Buffer.byteLength(name) > MAX_BYTES[kind]) {
    return `expected at most ${MAX_BYTES[kind]} bytes`;
  }
  if (/\p{Cc}/u.test(name)) return 'control characters are not allowed';
  if (!name.isWellFormed()) return 'half of a character (a lone surrogate) is not allowed';
  if (name.trim() !== name) return 'blanks at the beginning or end are not allowed';
  return kind === 'type' ? pathProblemOf(name) : null;
}

function pathProblemOf(type: string): string | null {
  if (type.includes('\\')) return 'backslashes are not allowed, folders are separated by /';
  const segments = type.split('/');
  if (segments.includes('')) return 'an empty path segment is not allowed';
  return segments.some((segment) => segment === '.' || segment === '..') ? '. and .. are not allowed' : null;
}
