import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { TaskqError } from '../../lib/errors.ts';
import { type AnyServerError, isAnyServerError } from '../../lib/server-trouble.ts';
import { headComment, KINDS, type Kind, kindsIn } from './head-comment.ts';
import { SQL } from './schema-release.ts';

/**
 * Explain that a role lacks the right to call a function of ours, or to use our schema: which, and what prints the
 * statements that grant it. Undefined: the error is about something else, such as a table that a trigger writes.
 */
export function notGranted(error: unknown, databaseUrl?: string): TaskqError | undefined {
  if (!isAnyServerError(error) || error.code !== '42501' || isWithinFunction(error)) return undefined;
  const name = / for function (\w+)$/.exec(error.message)?.[1];
  const kinds = name === undefined ? [] : kindsOf(name);
  if (kinds.length === 0 && !/ for schema taskq$/.test(error.message)) return undefined;
  const role = roleIn(databaseUrl);
  const what = kinds.length === 0 ? 'use the schema taskq' : `call taskq.${name}`;
  return new TaskqError(
    'not_granted',
    `${role === undefined ? 'the role' : `role ${role}`} may not ${what}`,
    {
      hint: adviseGrants(kinds.length === 0 ? KINDS : kinds, role ?? '<role>'),
      cause: error,
    },
  );
}

/** The command that prints the grants for a role of one of these kinds, ready to paste, and the alternatives. */
export function adviseGrants(kinds: readonly Kind[], role: string): string {
  const [first, ...others] = new Set(kinds.map((kind) => `--${kind.split(' ')[0]}`));
  const more = others.length === 0 ? '' : ` (or ${others.join(', ')})`;
  return `taskq grants ${first} ${role} prints what it needs${more}`;
}

/** The error is about a function that another function calls. */
function isWithinFunction(error: AnyServerError & { readonly where?: string }): boolean {
  return error.where !== undefined;
}

/** The kinds of roles that call the function; empty: it is none of the API's. */
function kindsOf(name: string): readonly Kind[] {
  return kindsIn(headComment(textOf(name)));
}

function textOf(name: string): string {
  try {
    return readFileSync(join(SQL, 'functions', 'api', `${name}.sql`), 'utf8');
  } catch {
    return '';
  }
}

/** The user of a URL, which may lack a host: a socket is given as a parameter. */
function roleIn(databaseUrl = ''): string | undefined {
  const [, user] = /^\w+:\/\/([^:@/?#]+)(?::[^/]*)?@/.exec(databaseUrl) ?? [];
  return user?.replaceAll(/(?:%[0-9a-f]{2})+/gi, (bytes) =>
    Buffer.from(bytes.replaceAll('%', ''), 'hex').toString(),
  );
}
