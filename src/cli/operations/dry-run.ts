import type { StoredChanges } from '../../domain/edit-changes.ts';
import type { OperationVerb } from '../../domain/operation.ts';
import { countOf, withCommas } from '../../lib/count.ts';
import { type StartedOperation, startOperation } from '../../queue/operate/operations.ts';
import type { Context } from '../run/context.ts';
import type { Asked } from '../select/bulk.ts';
import { NO_TASK_MATCHES } from '../select/misspelt.ts';
import { operationFilterOf } from '../select/task-selection.ts';

/** Show which tasks a verb would act on, with these changes if it is an edit, and change nothing. */
export async function tryOut(
  context: Context,
  { db, selection, acting }: Asked,
  verb: OperationVerb,
  changes?: StoredChanges,
): Promise<undefined> {
  const filter = operationFilterOf(selection);
  const found = await startOperation(db, { verb, filter, changes, by: acting.by, dryRun: true });
  const limit = (selection.kind === 'filter' && selection.limit) || Number.POSITIVE_INFINITY;
  const limited = found.matched < limit ? found : { ...found, matched: limit, at_least: false };
  return showDryRun(context, verb, { ...limited, ids: found.ids.slice(0, limit) });
}

/** Print what a dry run has found. */
export async function showDryRun(
  context: Context,
  verb: OperationVerb,
  { matched, at_least, ids }: Omit<StartedOperation, 'id' | 'answer'>,
): Promise<undefined> {
  await context.output.answer({ dry_run: true, matched, at_least, ids }, () => {
    if (matched === 0 && at_least) return `${NO_TASK_MATCHES} among the newest 100,000; older ones may`;
    if (matched === 0) return NO_TASK_MATCHES;
    const count = at_least ? `${withCommas(matched)} or more tasks` : countOf(matched, 'task');
    const others = matched > ids.length || at_least ? ', …' : '';
    return `would ${verb} ${count}: ${ids.join(', ')}${others}`;
  });
}
