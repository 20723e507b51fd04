import { UnknownTypeError } from '../../domain/errors.ts';
import { EXIT, TaskqError } from '../../lib/errors.ts';
import { type AnyServerError, isAnyServerError, serverTrouble } from '../../lib/server-trouble.ts';

/**
 * Translate a server error for a caller of our functions: their refusals, and a missing schema. Returns every other
 * error unchanged.
 */
export function refusalOf(error: unknown, type: string): unknown {
  if (!isAnyServerError(error)) return error;
  const { code, message, constraint, detail }: Refusal = error;
  if (code === '22023' && constraint === 'the_type_is_known') {
    return new UnknownTypeError(typeIn(message) ?? type, knownIn(detail), { cause: error });
  }
  if (code === '22023') return new TaskqError('refused', message, { exitCode: EXIT.usage, cause: error });
  // No such schema, table or function.
  if (['3F000', '42P01', '42883'].includes(code) && /\btaskq\b/.test(message)) {
    return new TaskqError('schema_missing', `the database has no schema taskq that fits: ${message}`, {
      exitCode: EXIT.schema,
      hint: 'run taskq migrate',
      cause: error,
    });
  }
  return error;
}

/** The fields that our functions add to an error. */
interface Refusal extends AnyServerError {
  readonly constraint?: string;
  readonly detail?: string;
}

/** The first type that a message of `taskq.refuse_unknown` names. */
function typeIn(message: string): string | undefined {
  const [, name] = /^unknown type ("(?:[^"\\]|\\.)*")/.exec(message) ?? [];
  return name === undefined ? undefined : (JSON.parse(name) as string);
}

function knownIn(detail: string | undefined): readonly string[] {
  try {
    return JSON.parse(detail?.replace(/^known types: /, '') ?? '[]') as string[];
  } catch {
    return [];
  }
}

/**
 * The same, plus the server's own trouble on a connection that is ours, not the caller's: no connection left, shutting
 * down, read-only.
 */
export function troubleOf(error: unknown, type: string, databaseUrl?: string): unknown {
  const refusal = refusalOf(error, type);
  return (isAnyServerError(refusal) && serverTrouble(refusal, databaseUrl)) || refusal;
}
