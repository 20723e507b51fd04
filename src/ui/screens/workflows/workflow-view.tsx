import { segment } from '../../lib/api.ts';
import { useLoad } from '../../lib/load.ts';
import { hrefTo } from '../../lib/place.ts';
import { visible } from '../../lib/text.ts';
import { statusCounts, type WorkflowDetails } from '../../lib/workflow.ts';
import { LoadedView } from '../../parts/loaded.tsx';
import { Facts, Screen, Section } from '../../parts/screen.tsx';
import { Status } from '../../parts/status.tsx';
import { Name, Time } from '../../parts/text.tsx';
import { StepGraph } from './step-graph.tsx';
import { StepTable } from './step-table.tsx';
import { WorkflowActions } from './workflow-actions.tsx';

/** A workflow: what it does, its steps as a graph and as a table. */
export function WorkflowView({ id }: { readonly id: string }) {
  const workflow = useLoad<WorkflowDetails>(`workflows/${segment(id)}`);
  const { data, reload } = workflow;
  return (
    <Screen
      title={data === undefined ? `Workflow ${id}` : visible(data.name)}
      actions={data && <WorkflowActions workflow={data} reload={reload} />}
    >
      <LoadedView of={workflow}>
        {(shown) => (
          <>
            <WorkflowFacts of={shown} />
            <Section title="Steps">
              <Counts of={shown} />
              <StepGraph steps={shown.steps} />
              <StepTable steps={shown.steps} />
            </Section>
          </>
        )}
      </LoadedView>
    </Screen>
  );
}

function WorkflowFacts({ of }: { readonly of: WorkflowDetails }) {
  const { id, state, isOpen, deaths, maxDead, failFast, createdBy, cancelReason, keptUntil } = of;
  const callbacks = [
    ['at its end', of.onEnd],
    ['when it fails', of.onFailing],
    ['after each step', of.onStep],
  ] as const;
  return (
    <Facts
      of={[
        ['State', <Status name={state} />],
        ['Id', <span class="mono">{id}</span>],
        ['Takes more steps', isOpen ? 'yes' : 'no'],
        ['Deaths', maxDead === null ? deaths : `${deaths}, fails after more than ${maxDead}`],
        ['When it fails', failFast ? 'the rest is cancelled' : 'the rest goes on'],
        ['Created', <Time at={of.createdAt} />],
        ['Created by', <Name text={createdBy} />],
        ['Failed', of.failingAt === null ? undefined : <Time at={of.failingAt} />],
        ['Ended', of.endedAt === null ? undefined : <Time at={of.endedAt} />],
        ['Cancelled', of.cancelRequestedAt === null ? undefined : <Time at={of.cancelRequestedAt} />],
        ['Cancelled because', cancelReason === null ? undefined : <Name text={cancelReason} />],
        ['Kept until', keptUntil ?? undefined],
        ...callbacks.flatMap(([when, callback]) =>
          callback === null ? [] : [[`Enqueues ${when}`, <Name text={callback.type} />] as const],
        ),
      ]}
    />
  );
}

function Counts({ of: { id, steps } }: { readonly of: WorkflowDetails }) {
  return (
    <ul class="counts">
      {statusCounts(steps).map(([status, count]) => (
        <li key={status}>
          <a href={hrefTo('tasks', [], { workflow: id, status })}>
            {count} <Status name={status} />
          </a>
        </li>
      ))}
    </ul>
  );
}
