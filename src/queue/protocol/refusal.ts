import { UnknownTypeError } from '../../domain/errors.ts';
import { EXIT, TaskqError } from '../../lib/errors.ts';
import { type AnyServerError, isAnyServerError, serverTrouble } from '../../lib/server-trouble.ts';

/**
 * Say what an error of the server means for a caller of ours: what our functions refuse, and a schema that is not
 * there. Every other error is returned as it is.
 */
export function refusalOf(error: unknown, type: string): unknown {
  if (!isAnyServerError(error)) return error;
  const { code, message, constraint, detail }: Refusal = error;
  if (code === '22023' && constraint === 'the_type_is_known') {
    return new UnknownTypeError(typeIn(message) ?? type, knownIn(detail), error);
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

/** What our functions say besides. */
interface Refusal extends AnyServerError {
  readonly constraint?: string;
  readonly detail?: string;
}

/** The first of those that `taskq.refuse_unknown` names. */
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
 * The same, and what the server says of itself on a connection that is not the caller's own: that it has no room, shuts
 * down, takes no writes.
 */
export function troubleOf(error: unknown, type: string, databaseUrl?: string): unknown {
  const refusal = refusalOf(error, type);
  return (isAnyServerError(refusal) && serverTrouble(refusal, databaseUrl)) || refusal;
}
