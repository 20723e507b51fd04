import { UnknownTypeError } from '../../domain/errors.ts';
import { badOption } from '../../lib/bad-option.ts';
import { TaskqError } from '../../lib/errors.ts';
import { type AnyServerError, isAnyServerError, serverTrouble } from '../../lib/server-trouble.ts';
import { notGranted } from '../schema/not-granted.ts';

/**
 * Translate a server error for a caller of our functions: their refusals, a missing grant, and a missing schema. Returns
 * every other error unchanged.
 */
export function refusalOf(error: unknown, type: string, databaseUrl?: string): unknown {
  if (!isAnyServerError(error)) return error;
  const { code, message, constraint, detail }: Refusal = error;
  if (code === '22023' && constraint === 'the_type_is_known') {
    const { known, unknown } = unknownTypesIn(detail) ?? { known: [], unknown: [] };
    return new UnknownTypeError(unknown[0] ?? type, known, { cause: error });
  }
  if (code === '22023' && constraint === 'a_task_is_replaced_by_its_type')
    return new TaskqError('key_of_another', message.replace(/^enqueue: /, ''), { cause: error });
  if (isBurstAlone(error))
    return badOption(message.replace(/^\w+: /, '').replace('group_burst', 'groupBurst'));
  if (code === '22023') {
    const ofWorkflow = constraint !== undefined && OF_WORKFLOWS.includes(constraint);
    const said = message.replace(ofWorkflow ? /^\w+: / : /^run_workflow: /, '');
    if (constraint !== 'the_workflow_exists') return new TaskqError('refused', said, { cause: error });
    // A verb on a workflow, not a task for one.
    const unknown = !message.startsWith('enqueue: ');
    const hint = 'see taskq workflow list';
    return new TaskqError(unknown ? 'no_such_workflow' : 'refused', said, { hint, cause: error });
  }
  // More than a jsonb value, or another limit of the server, can hold.
  if (code === '54000') {
    return new TaskqError('refused', message, {
      hint: 'send less at once, or store large data elsewhere',
      cause: error,
    });
  }
  if (lacksOurs(error)) {
    return new TaskqError('schema_missing', `the database has no schema taskq that fits: ${message}`, {
      hint: 'run taskq migrate',
      cause: error,
    });
  }
  return notGranted(error, databaseUrl) ?? error;
}

/** Whether a queue or a group was to get a burst, but has no rate: `set_queue: group_burst 4 needs a rate`. */
export function isBurstAlone({ code, constraint }: Refusal): boolean {
  return code === '22023' && constraint === 'a_burst_needs_a_rate';
}

/**
 * Errors of our functions about workflows. Their constraint names mean nothing to callers who start a workflow or add a
 * step.
 */
const OF_WORKFLOWS = [
  'a_parent_is_a_step',
  'a_step_has_its_key',
  'a_workflow_has_at_most_100000_steps',
  'a_workflow_has_a_step_once',
  'a_workflow_has_no_cycle',
  'the_workflow_exists',
  'the_workflow_is_open',
];

/** An error with the fields that our functions add to it, and the server's to one that is about a name. */
interface Refusal extends AnyServerError {
  readonly constraint?: string;
  readonly detail?: string;
  /** Where our statement has the name. */
  readonly position?: string;
  /** The statement of a function that has the name, and where. */
  readonly internalQuery?: string;
  readonly internalPosition?: string;
}

/** No such schema, table or function. */
const UNDEFINED_NAME = ['3F000', '42P01', '42883'];

/**
 * Whether the server does not find a name of our schema. It points at the name: in our own statement, where only such
 * names can be missing, or in a statement of a function, which may be one of the application's.
 */
export function lacksOurs(error: Error & { readonly code?: string | undefined }): boolean {
  const { code, position, internalQuery, internalPosition }: Partial<Refusal> = error as Error;
  if (!UNDEFINED_NAME.includes(code ?? '')) return false;
  if (position !== undefined) return true;
  return internalQuery?.slice(Number(internalPosition) - 1).startsWith('taskq.') === true;
}

interface UnknownTypes {
  readonly known: readonly string[];
  readonly unknown: readonly string[];
}

/** Reads the detail of `taskq.refuse_unknown`. Undefined if it is from a schema of another release. */
function unknownTypesIn(detail: string | undefined): UnknownTypes | undefined {
  try {
    const { known, unknown } = JSON.parse(detail ?? '') as Partial<UnknownTypes>;
    return Array.isArray(known) && Array.isArray(unknown) ? { known, unknown } : undefined;
  } catch {
    return undefined;
  }
}

/**
 * The same, plus the server's own trouble on a connection that is ours, not the caller's: no connection left, shutting
 * down, read-only.
 */
export function troubleOf(error: unknown, type: string, databaseUrl?: string): unknown {
  const refusal = refusalOf(error, type, databaseUrl);
  return (isAnyServerError(refusal) && serverTrouble(refusal, databaseUrl)) || refusal;
}
