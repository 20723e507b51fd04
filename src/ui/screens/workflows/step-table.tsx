import { useState } from 'preact/hooks';
import { hrefTo } from '../../lib/place.ts';
import { counted } from '../../lib/text.ts';
import type { Step } from '../../lib/workflow.ts';
import { type Column, DataTable } from '../../parts/data-table.tsx';
import { Status } from '../../parts/status.tsx';
import { Name, Time } from '../../parts/text.tsx';

const ROWS_AT_ONCE = 200;

const COLUMNS: readonly Column<Step>[] = [
  { title: 'Step', cell: ({ step }) => <Name text={step} /> },
  { title: 'Status', cell: ({ status }) => <Status name={status} /> },
  { title: 'Type', isWide: true, cell: ({ type }) => <Name text={type} /> },
  { title: 'Failed', align: 'end', isWide: true, cell: ({ attempts }) => attempts },
  { title: 'Waits for', cell: (step) => <WaitsFor step={step} /> },
  { title: 'Started', isWide: true, cell: ({ startedAt }) => <Time at={startedAt} /> },
  { title: 'Ended', isWide: true, cell: ({ endedAt }) => <Time at={endedAt} /> },
  { title: 'Reason', isWide: true, cell: ({ reason }) => (reason === null ? '' : <Name text={reason} />) },
];

/** The steps of a workflow in the order of their tasks. */
export function StepTable({ steps }: { readonly steps: readonly Step[] }) {
  const [most, setMost] = useState(ROWS_AT_ONCE);
  const rest = steps.length - most;
  return (
    <>
      <DataTable
        caption="Steps, in the order in which they were added"
        columns={COLUMNS}
        rows={steps.slice(0, most)}
        keyOf={({ taskId }) => taskId}
        hrefOf={({ taskId }) => hrefTo('task', [taskId])}
      />
      {rest > 0 && (
        <p class="more">
          <button type="button" onClick={() => setMost(most + ROWS_AT_ONCE)}>
            {counted(rest, 'more step')}
          </button>
        </p>
      )}
    </>
  );
}

const PARENTS_SHOWN = 3;

function WaitsFor({ step: { parents, cancelledBy } }: { readonly step: Step }) {
  if (cancelledBy !== null)
    return (
      <>
        cancelled by <Name text={cancelledBy} />
      </>
    );
  const unmet = parents.filter(({ isMet }) => !isMet);
  return (
    <>
      {unmet.slice(0, PARENTS_SHOWN).map(({ step }, at) => (
        <span key={step}>
          {at > 0 && ', '}
          <Name text={step} />
        </span>
      ))}
      {unmet.length > PARENTS_SHOWN && ` and ${unmet.length - PARENTS_SHOWN} more`}
    </>
  );
}
