import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { note } from '../lib/activity.ts';
import type { ApiProblem } from '../lib/api.ts';
import { useApp } from '../lib/app.ts';
import { problemOf } from '../lib/load.ts';
import { begin, type DryRun, dryRun, type OperationFilter, type Verb } from '../lib/operations.ts';
import { hrefTo } from '../lib/place.ts';
import { counted } from '../lib/text.ts';
import { Confirm } from './confirm.tsx';
import { textOf } from './fields.tsx';
import { Skeleton } from './loaded.tsx';
import { ProblemView } from './problem.tsx';

interface OperationDialogProps {
  readonly verb: Verb;
  /** The verb as the label of a button, such as `Cancel`. */
  readonly label: string;
  readonly filter: OperationFilter;
  readonly isDestructive?: boolean;
  /** Shown below the number of tasks. */
  readonly remark?: string;
  /** More fields, and what they add to the operation. */
  readonly fields?: (problem: ApiProblem | undefined) => ComponentChildren;
  optionsOf?(form: FormData): Readonly<Record<string, unknown>>;
  onDone(): void;
  onClose(): void;
}

/** Shows what an operation would do, and begins it for exactly the number of tasks shown, if that was counted. */
export function OperationDialog({ verb, label, filter, fields, optionsOf, ...props }: OperationDialogProps) {
  const { activity } = useApp();
  const [found, setFound] = useState<DryRun>();
  const [problem, setProblem] = useState<ApiProblem>();
  // As of the opening of the dialog.
  useEffect(() => {
    dryRun(verb, filter).then(setFound, (error: unknown) => setProblem(problemOf(error)));
  }, []);
  const run = async (form: FormData) => {
    const { matched, atLeast } = found!;
    const reason = textOf(form, 'reason');
    const { id } = await begin(verb, filter, {
      ...(!atLeast && { expect: matched }),
      ...(reason && { reason }),
      ...optionsOf?.(form),
    });
    note(activity, {
      text: `${label}: ${counted(matched, 'task')}, operation ${id}`,
      href: hrefTo('operations', [id]),
    });
    props.onDone();
  };
  return (
    <Confirm
      title={`${label} tasks`}
      verb={label}
      {...(props.isDestructive && { isDestructive: true })}
      count={found?.matched}
      isUncounted={found?.atLeast}
      isReady={found !== undefined && (found.matched > 0 || found.atLeast)}
      run={run}
      onClose={props.onClose}
    >
      {(refused) => (
        <>
          {problem !== undefined && <ProblemView problem={problem} />}
          {found === undefined ? problem === undefined && <Skeleton /> : <Found of={found} />}
          {props.remark !== undefined && <p class="muted">{props.remark}</p>}
          {fields?.(refused)}
        </>
      )}
    </Confirm>
  );
}

function Found({ of: { matched, atLeast, ids } }: { readonly of: DryRun }) {
  if (matched === 0 && atLeast) return <p>None of the newest 100,000 tasks matches. Older ones may.</p>;
  if (matched === 0) return <p>No task matches any longer.</p>;
  const shown = ids.slice(0, 5).join(', ');
  return (
    <p>
      This is about {atLeast && 'at least '}
      <strong>{counted(matched, 'task')}</strong>: {shown}
      {matched > 5 && ' and more'}.
    </p>
  );
}
