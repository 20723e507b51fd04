import type { StoredChanges } from '../domain/edit-changes.ts';
import { normaliseEnqueueOptions } from '../domain/enqueue-options.ts';
import {
  OPERATION_VERBS,
  type OperationLimits,
  type OperationVerb,
  storedLimits,
} from '../domain/operation.ts';
import type { StoredPayload } from '../domain/payload.ts';
import { checkedTaskId } from '../domain/task-id.ts';
import { badOption } from '../lib/bad-option.ts';
import { toDurationMs } from '../lib/duration.ts';
import { didYouMean } from '../lib/nearest.ts';
import {
  type BulkVerb,
  bulkFilter,
  FILTERED,
  type Filtered,
  type ListFilter,
} from '../queue/inspect/task-filter.ts';
import type { NewOperation } from '../queue/operate/operations.ts';

/** Which tasks an operation acts on: those that match every field, or those with these ids. */
export interface OperationFilter extends ListFilter {
  /** Named tasks, at most 10,000, without any other field. */
  readonly ids?: readonly string[];
}

/** The verb and the tasks, as the caller gives them. */
export interface GivenOperation extends OperationLimits {
  readonly verb: OperationVerb;
  readonly filter: OperationFilter;
  readonly by?: string | undefined;
  readonly reason?: string | undefined;
  readonly expect?: number | undefined;
  readonly dryRun?: boolean | undefined;
  readonly payload?: StoredPayload | undefined;
  readonly patch?: StoredPayload | undefined;
  readonly changes?: StoredChanges | undefined;
  readonly delay?: string | number | undefined;
  readonly maxAttempts?: number | 'unlimited' | undefined;
}

/** Checks an operation and converts it to what the database takes. Throws TaskqError `bad_option`. */
export function newOperationOf(given: GivenOperation): NewOperation {
  const { verb, filter, by, reason, expect, dryRun = false, payload, patch } = given;
  if (!OPERATION_VERBS.includes(verb))
    throw badOption(
      `verb ${JSON.stringify(verb)}: expected one of ${OPERATION_VERBS.join(', ')}${didYouMean(String(verb), OPERATION_VERBS)}`,
    );
  if (verb === 'edit' && given.changes === undefined) throw badOption('changes: an edit needs them');
  if (payload !== undefined && patch !== undefined)
    throw badOption('patch: a payload replaces what a patch would change; give one of them');
  if (Object.values(filter).every((value) => value === undefined) && expect === undefined && !dryRun)
    throw badOption('filter: an empty one means every task; confirm it with expect, the number of a dry run');
  const { max_attempts: maxAttempts } = normaliseEnqueueOptions({ maxAttempts: given.maxAttempts });
  return {
    ...{ verb, by, reason, expect, dryRun },
    filter: operationFilter(verb, filter),
    ...storedLimits(verb, given),
    payload: payload?.text,
    patch: patch?.text,
    changes: given.changes,
    delayMs: given.delay === undefined ? undefined : toDurationMs(given.delay, 'delay'),
    maxAttempts,
  };
}

function operationFilter(
  verb: OperationVerb,
  { ids, status, ...filter }: OperationFilter,
): NewOperation['filter'] {
  const isFiltered = status !== undefined || Object.values(filter).some((value) => value !== undefined);
  if (ids !== undefined && isFiltered)
    throw badOption('ids: they name the tasks; no other filter can choose them');
  if (ids !== undefined) return { ids: checkedIds(ids) };
  const filtered: Filtered = FILTERED[commandOf(verb)];
  const chosen = status === undefined ? filtered.statuses : [status].flat();
  const other = chosen.find((one) => !filtered.statuses.includes(one));
  if (other !== undefined)
    throw badOption(
      `status ${JSON.stringify(other)}: ${verb} acts on tasks that are ${filtered.statuses.join(', ')}`,
    );
  return { ...bulkFilter(filter, filtered), status: chosen };
}

function checkedIds(ids: readonly string[]): readonly string[] {
  if (Array.isArray(ids) && ids.length >= 1 && ids.length <= MOST_IDS)
    return ids.map((id) => checkedTaskId(id, 'ids'));
  throw badOption(`ids: expected 1 to ${MOST_IDS} ids of tasks`);
}

const MOST_IDS = 10_000;

/** The command with the same filters. */
function commandOf(verb: OperationVerb): BulkVerb {
  return verb === 'revive' || verb === 'discard' ? `dead ${verb}` : verb;
}
