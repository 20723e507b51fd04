import { badOption } from '../../lib/bad-option.ts';
import { shown } from '../../lib/shown.ts';
import { RESERVED_WORDS } from './reserved-words.ts';

/** The name of a supervised process, as SQL writes it. */
export interface ProcessName {
  readonly schema: string;
  readonly name: string;
}

/**
 * Parse `order-refund` or `shop.order-refund`; `_` is as good as `-`. Without a schema it is `supervisors`. `longest` is
 * the longest identifier that has the name in it, as `<name>` there. Throws `bad_option`.
 */
export function parseProcessName(text: string, longest: string): ProcessName {
  const refuse = (problem: string, hint?: string) =>
    badOption(`--supervisor ${shown(text)}: ${problem}`, hint);
  const parts = text.split('.');
  if (parts.length > 2 || !parts.every((part) => PART.test(part)))
    throw refuse('expected order-refund or shop.order-refund, of lower-case letters, digits and -');
  const [name = '', schema = DEFAULT_SCHEMA] = parts.map((part) => part.replaceAll('-', '_')).reverse();
  const most = MAX_LENGTH - longest.replace('<name>', '').length;
  if (name.length > most)
    throw refuse(`expected at most ${most} characters: ${longest} must fit into ${MAX_LENGTH}`);
  if (schema.length > MAX_LENGTH)
    throw refuse(`expected at most ${MAX_LENGTH} characters before the dot, for the schema`);
  if (TAKEN_TYPES.has(name))
    throw refuse(
      `tasks of type ${name} are handled already`,
      'say what the process does, such as send-email',
    );
  if (TAKEN_SCHEMAS.test(schema)) throw refuse(`the schema ${schema} has none of yours`);
  if (RESERVED_WORDS.has(schema))
    throw refuse(`${schema} is a reserved word of SQL, and cannot be the schema`);
  return { schema, name };
}

const DEFAULT_SCHEMA = 'supervisors';

/** Only names that SQL need not quote. Reserved words matter only for the schema, which stands alone. */
const PART = /^[a-z][a-z0-9]*(?:[-_][a-z0-9]+)*$/;

/** PostgreSQL cuts identifiers that are longer, in bytes. */
const MAX_LENGTH = 63;

const TAKEN_SCHEMAS = /^(?:taskq|queues|internal|information_schema|pg_.*)$/;

/** Those of the channels that the package has, and of the supervisor itself. */
const TAKEN_TYPES: ReadonlySet<string> = new Set(['db_function', 'email', 'file_delete', 'http', 'sms']);
