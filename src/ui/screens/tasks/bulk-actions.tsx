import { useState } from 'preact/hooks';
import type { ApiProblem } from '../../lib/api.ts';
import type { Task, TaskStatus } from '../../lib/task.ts';
import { filterOf } from '../../lib/task-filter.ts';
import { TASK_VERBS, type TaskVerb, verbsFor } from '../../lib/verbs.ts';
import { ActionBar } from '../../parts/action-bar.tsx';
import type { Selection } from '../../parts/data-table.tsx';
import { Field, textOf } from '../../parts/fields.tsx';
import { OperationDialog } from '../../parts/operation-dialog.tsx';

/** The selected tasks. */
export interface Picked {
  readonly keys: ReadonlySet<string>;
  /** Applies to all tasks that match the filter, shown or not. */
  readonly isAll: boolean;
}

export const NONE: Picked = { keys: new Set(), isAll: false };

interface BulkActionsProps {
  readonly tasks: readonly Task[];
  readonly isMore: boolean;
  readonly params: URLSearchParams;
  readonly selection: Selection;
  readonly picked: Picked;
  pick(picked: Picked): void;
  onDone(): void;
}

/** The actions on the selected tasks, or on all that match. */
export function BulkActions({ tasks, isMore, params, selection, picked, pick, onDone }: BulkActionsProps) {
  const [open, setOpen] = useState<TaskVerb>();
  const verbs = verbsFor(picked.isAll ? statusesOf(params) : statusesIn(tasks, picked.keys), [
    MOVE,
    ...TASK_VERBS,
  ]);
  const isWhole = tasks.length > 0 && tasks.every(({ id }) => picked.keys.has(id));
  return (
    <>
      <ActionBar
        selection={selection}
        isAll={picked.isAll}
        selectAll={isWhole && isMore ? () => pick({ ...picked, isAll: true }) : undefined}
        clear={() => pick(NONE)}
        actions={verbs.map((one) => ({
          label: one.label,
          ...(one.isDestructive && { isDestructive: true }),
          run: () => setOpen(one),
        }))}
      />
      {open !== undefined && (
        <OperationDialog
          verb={open.verb}
          label={open.label}
          filter={picked.isAll ? filterOf(params) : { ids: [...picked.keys] }}
          {...(open.isDestructive && { isDestructive: true })}
          {...(open === MOVE && { fields: queueField, optionsOf: changesOf })}
          onDone={onDone}
          onClose={() => setOpen(undefined)}
        />
      )}
    </>
  );
}

/** An edit; for many tasks, only of the queue. */
const MOVE: TaskVerb = {
  ...{ verb: 'edit', label: 'Move', done: 'Moved', statuses: ['pending', 'blocked'] },
  effect: 'It waits in another queue.',
};

function queueField(problem: ApiProblem | undefined) {
  return <Field label="To queue" name="queue" isRequired problem={problem} />;
}

function changesOf(form: FormData): Readonly<Record<string, unknown>> {
  return { changes: { queue: textOf(form, 'queue') } };
}

function statusesIn(tasks: readonly Task[], ids: ReadonlySet<string>): readonly TaskStatus[] {
  return tasks.filter(({ id }) => ids.has(id)).map(({ status }) => status);
}

/** The statuses that a filter names; null: all. */
function statusesOf(params: URLSearchParams): readonly TaskStatus[] | null {
  const named = params.getAll('status') as TaskStatus[];
  return named.length === 0 ? null : named;
}
