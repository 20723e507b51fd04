import type { StoredChanges } from '../../domain/edit-changes.ts';
import type { OperationVerb, StoredLimits } from '../../domain/operation.ts';
import { countOf } from '../../lib/count.ts';
import type { Queryable } from '../../lib/database.ts';
import { TaskqError } from '../../lib/errors.ts';
import type { TaskFilter } from '../inspect/task-filter.ts';
import type { Acting } from './acting.ts';

export interface NewOperation extends Acting, Partial<StoredLimits> {
  readonly verb: OperationVerb;
  /** Which tasks: those that match, or those with these ids. */
  readonly filter: TaskFilter | { readonly ids: readonly string[] };
  /** Change nothing. */
  readonly dryRun?: boolean | undefined;
  /** Start only if exactly this many tasks match. */
  readonly expect?: number | undefined;
  /** Of a revive and a rerun: JSON text that replaces the payloads. */
  readonly payload?: string | undefined;
  /** Of a revive: JSON text of an object, a JSON merge patch of each payload. */
  readonly patch?: string | undefined;
  /** Of an edit. */
  readonly changes?: StoredChanges | undefined;
  readonly delayMs?: number | undefined;
  readonly maxAttempts?: number | undefined;
}

export interface StartedOperation {
  /** Null: it was not started. */
  readonly id: string | null;
  readonly answer: 'started' | 'dry_run' | 'unexpected';
  /** How many tasks it acts on, or would act on. */
  readonly matched: number;
  /** There may be more than that: counting ends at 10,000. */
  readonly at_least: boolean;
  /** The first of them. */
  readonly ids: readonly string[];
}

/** Start a verb on many tasks, which workers carry out. If nothing matches, it has completed at once. */
export async function startOperation(db: Queryable, operation: NewOperation): Promise<StartedOperation> {
  const { verb, filter } = operation;
  const rows = await db.query<Omit<StartedOperation, 'matched'> & { readonly matched: string }>({
    text: 'select id, answer, matched, at_least, ids from taskq.start_operation($1, $2, $3::jsonb || $4::jsonb)',
    values: [verb, JSON.stringify(filter), JSON.stringify(optionsOf(operation)), documentsOf(operation)],
  });
  return { ...rows[0]!, matched: Number(rows[0]!.matched) };
}

/** Returns the id of an operation that was started. Throws TaskqError: another number matched than expected. */
export function startedId({ id, matched, at_least: isMore }: StartedOperation, expect?: number): string {
  if (id !== null) return id;
  const exactly = `${countOf(matched, 'task')} ${matched === 1 ? 'matches' : 'match'}`;
  const those = isMore ? `${matched} or more tasks match` : exactly;
  throw new TaskqError('unexpected_matches', `${those}, not ${expect}: nothing was started`, {
    hint: 'look at them again with a dry run',
  });
}

function optionsOf({ by, reason, rate, canary, stop_at, expect, dryRun, ...others }: NewOperation): object {
  const { delayMs, maxAttempts } = others;
  return {
    ...{ by, reason, rate, canary, stop_at, expect },
    ...{ dry_run: dryRun, delay_ms: delayMs, max_attempts: maxAttempts },
  };
}

/** The options with JSON of the caller, whose numbers must not change. */
function documentsOf({ payload, patch, changes }: NewOperation): string {
  return objectOf({ payload, patch, changes: changes && changesText(changes) });
}

function changesText({ payload, ...others }: StoredChanges): string {
  const texts = Object.entries(others).map(([name, value]) => [name, JSON.stringify(value)]);
  return objectOf({ ...Object.fromEntries(texts), payload });
}

/** Returns the JSON text of an object whose members are JSON text. */
function objectOf(members: Readonly<Record<string, string | undefined>>): string {
  const given = Object.entries(members).filter(([, text]) => text !== undefined);
  return `{${given.map(([name, text]) => `${JSON.stringify(name)}:${text}`).join()}}`;
}

export interface StoppedOperation {
  readonly answer: 'stopped' | 'not_running';
  /** The state of one that had ended; null: there is no such operation. */
  readonly state: string | null;
}

/** Stop an operation; what it has done stays done. */
export async function stopOperation(
  db: Queryable,
  id: string,
  { by, reason }: Acting = {},
): Promise<StoppedOperation> {
  const rows = await db.query<StoppedOperation>({
    text: "select answer, extra ->> 'state' as state from taskq.stop_operation($1, $2)",
    values: [id, JSON.stringify({ by, reason })],
  });
  return rows[0]!;
}
