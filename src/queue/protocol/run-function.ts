import { type FunctionAnswer, readAnswer } from '../../domain/function-answer.ts';
import { FunctionError, type ServerReport } from '../../domain/function-error.ts';
import { isServerError, type Queryable } from '../../lib/database.ts';
import { TaskqError } from '../../lib/errors.ts';
import { parseExact } from '../../lib/exact-json.ts';
import type { LastStatement } from '../../lib/open-transaction.ts';
import { isUnsent } from '../../lib/unsent.ts';

/** What a row of the call has. */
export interface AnswerRow {
  /** JSON text; null for a null answer. */
  readonly answer: string | null;
  /** How long the server has taken for the whole statement so far, in milliseconds. */
  readonly tookMs: number;
}

const TOOK_MS = `pg_catalog.date_part('epoch',
  pg_catalog.clock_timestamp() operator(pg_catalog.-) pg_catalog.statement_timestamp()) operator(pg_catalog.*) 1000
  as "tookMs"`;

/** The call of a function by its name, with JSON text. */
export function callFunction(name: string, payload: string): LastStatement {
  return {
    text: `select internal.run_function($1::pg_catalog.text, $2::pg_catalog.jsonb)::pg_catalog.text as answer,
      ${TOOK_MS}`,
    values: [name, payload],
  };
}

/** The calls of several functions, in turn. Its rows are their answers; fewer, if these took too long. */
export function callFunctions(
  calls: readonly { readonly name: string; readonly payload: string }[],
): LastStatement {
  return {
    text: `select answer, ${TOOK_MS}
      from internal.run_functions($1::pg_catalog.text[], $2::pg_catalog.jsonb[]) as answer`,
    values: [calls.map(({ name }) => name), calls.map(({ payload }) => payload)],
  };
}

/** Reads what the function has answered. Throws FunctionError. */
export function answerOf(name: string, [row]: readonly Pick<AnswerRow, 'answer'>[]): FunctionAnswer {
  const text = row?.answer ?? null;
  const answer = readAnswer(text === null ? null : parseExact(text));
  if (typeof answer !== 'string') return answer;
  const found = text === null ? '' : `: ${text.length > 200 ? `${text.slice(0, 200)}…` : text}`;
  throw new FunctionError(
    'InvalidAnswer',
    `${name} must answer with {"status": …} or {"success": …}, but ${answer}${found}`,
  );
}

/** Looks for a function by its name, which has the form that `internal.run_function` takes. */
export function findFunction(name: string): LastStatement {
  return {
    text: `select pg_catalog.has_schema_privilege(n.oid, 'usage')
        and pg_catalog.has_function_privilege(p.oid, 'execute') as usable
      from pg_catalog.parse_ident($1::pg_catalog.text) as parts
      join pg_catalog.pg_namespace as n on n.nspname operator(pg_catalog.=) parts[1]
      join pg_catalog.pg_proc as p on p.pronamespace operator(pg_catalog.=) n.oid
        and p.proname operator(pg_catalog.=) parts[2] and p.proargtypes::pg_catalog.text operator(pg_catalog.=) '3802'`,
    values: [name],
  };
}

/** Throws FunctionError unless the function was found, and this role may execute it. */
export function refuseUncallable(name: string, [found]: readonly { readonly usable: boolean }[]): void {
  if (found === undefined) throw new FunctionError('UnknownFunction', `there is no function ${name}(jsonb)`);
  if (!found.usable) throw new FunctionError('FunctionNotGranted', `${name} is not granted to this role`);
}

/**
 * The error of a call: a FunctionError if the server raised it; unchanged otherwise, and if the call was never sent.
 */
export function functionErrorOf(name: string, error: unknown): unknown {
  if (!isServerError(error) || isUnsent(error)) return error;
  const { code = '', message } = error;
  if (!isOfCall(error)) return new FunctionError('FunctionFailed', message, error);
  if (code === '42501') return new FunctionError('FunctionNotGranted', `${name}: ${message}`, error);
  if (code === '42P13') return new FunctionError('InvalidAnswer', `${name}: ${message}`, error);
  if (UNKNOWN.includes(code)) return new FunctionError('UnknownFunction', `${name}: ${message}`, error);
  return new FunctionError('FunctionFailed', message, error);
}

/** There is no such function, the name does not have the form of one, or there is no schema `internal`. */
const UNKNOWN: readonly string[] = ['42883', '42602', '3F000'];

/** Whether an error is about the call: no other function than the one that calls is in its context. */
function isOfCall({ where }: ServerReport): boolean {
  const functions = (where ?? '').match(/^(?:PL\/pgSQL|SQL|PL\/\w+) function .*$/gm) ?? [];
  return functions.every((line) => /function "?(?:internal\.)?run_function"?\(text,jsonb\)/.test(line));
}

/**
 * Check that functions can be called: the schema `internal` is there, and this role may use its function. Throws
 * TaskqError.
 */
export async function checkRunFunction(db: Queryable): Promise<void> {
  const [found] = await db.query<{ usable: boolean; role: string }>({
    text: `select has_schema_privilege(n.oid, 'usage') and has_function_privilege(p.oid, 'execute') as usable,
        current_user::text as role
      from pg_proc as p join pg_namespace as n on n.oid = p.pronamespace
      where n.nspname = 'internal' and p.proname = 'run_function' and p.proargtypes::text = '25 3802'`,
  });
  if (found === undefined) {
    throw new TaskqError('handler_not_ready', 'the database has no function internal.run_function', {
      hint: 'run taskq migrate --with queues',
    });
  }
  if (found.usable) return;
  throw new TaskqError('handler_not_ready', `role ${found.role} may not call internal.run_function`, {
    hint: `grant usage on schema internal and execute on function internal.run_function(text, jsonb) to ${found.role}`,
  });
}
