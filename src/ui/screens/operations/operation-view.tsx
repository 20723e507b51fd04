import { useEffect, useState } from 'preact/hooks';
import { note } from '../../lib/activity.ts';
import { segment } from '../../lib/api.ts';
import { useApp, useMay } from '../../lib/app.ts';
import { useLoad } from '../../lib/load.ts';
import { isGoingOn, type Operation } from '../../lib/operations.ts';
import { hrefTo } from '../../lib/place.ts';
import { count, counted } from '../../lib/text.ts';
import { Confirm, sendWithReason } from '../../parts/confirm.tsx';
import { DataTable } from '../../parts/data-table.tsx';
import { JsonView } from '../../parts/json-view.tsx';
import { LoadedView } from '../../parts/loaded.tsx';
import { Facts, Screen, Section } from '../../parts/screen.tsx';
import { Status } from '../../parts/status.tsx';
import { Name, Time } from '../../parts/text.tsx';
import { Progress } from './progress.tsx';

/** While it runs, its progress is read this often. */
const READ_MS = 2000;

/** A bulk operation and how far it is. */
export function OperationView({ id }: { readonly id: string }) {
  const operation = useLoad<Operation>(`operations/${segment(id)}`);
  const { data, reload } = operation;
  const { state } = useApp().live.store.value;
  const goesOn = data !== undefined && isGoingOn(data);
  useEffect(() => {
    if (!goesOn || state === 'held') return;
    const timer = setInterval(() => document.hidden || reload(), READ_MS);
    return () => clearInterval(timer);
  }, [goesOn, state, reload]);
  const [isStopping, setStopping] = useState(false);
  const mayStop = useMay('operator') && goesOn;
  return (
    <Screen
      title={data === undefined ? `Operation ${id}` : `Operation ${id}: ${data.verb}`}
      actions={
        mayStop ? (
          <button type="button" class="danger" onClick={() => setStopping(true)}>
            Stop
          </button>
        ) : undefined
      }
    >
      <LoadedView of={operation}>
        {(shown) => (
          <>
            <OperationFacts of={shown} />
            <Section title="The tasks it is about">
              <JsonView value={shown.filter} what="the filter" />
            </Section>
            {shown.failures.length > 0 && <Failures of={shown.failures} />}
          </>
        )}
      </LoadedView>
      {isStopping && data !== undefined && (
        <StopDialog operation={data} onDone={reload} onClose={() => setStopping(false)} />
      )}
    </Screen>
  );
}

function OperationFacts({ of }: { readonly of: Operation }) {
  const { by, reason, deadAgain, notEnded, stoppedBecause, trouble, canary } = of;
  return (
    <Facts
      of={[
        ['State', <Status name={of.state} />],
        ['Progress', <Progress of={of} />],
        ['Done', count(of.done)],
        ['Skipped', count(of.skipped)],
        ['Failed', count(of.failed)],
        ['Dead again', deadAgain == null ? undefined : count(deadAgain)],
        ['Not ended yet', notEnded == null || notEnded === 0 ? undefined : count(notEnded)],
        ['Who', by === null ? undefined : <Name text={by} />],
        ['Why', reason === null ? undefined : <Name text={reason} />],
        ['Rate', of.rate ?? undefined],
        ['Canary', canary == null ? undefined : counted(canary, 'task')],
        ['Stops above', of.stopAt ?? undefined],
        ['Stopped because', stoppedBecause == null ? undefined : <Name text={stoppedBecause} />],
        ['Trouble', trouble == null ? undefined : <Name text={trouble} />],
        ['Started', <Time at={of.createdAt} />],
        ['Ended', of.endedAt === null ? undefined : <Time at={of.endedAt} />],
      ]}
    />
  );
}

function Failures({ of }: { readonly of: Operation['failures'] }) {
  return (
    <Section title="What failed">
      <DataTable
        caption="Tasks on which it failed"
        rows={of}
        keyOf={({ id }) => id}
        hrefOf={({ id }) => hrefTo('task', [id])}
        columns={[
          { title: 'Task', cell: ({ id }) => <span class="mono">{id}</span> },
          { title: 'Why', cell: ({ answer, error }) => <Name text={error ?? answer} /> },
        ]}
      />
    </Section>
  );
}

interface StopDialogProps {
  readonly operation: Operation;
  onDone(): void;
  onClose(): void;
}

function StopDialog({ operation: { id, verb, matched, done }, onDone, onClose }: StopDialogProps) {
  const { activity } = useApp();
  const run = async (form: FormData) => {
    await sendWithReason(form, 'POST', `operations/${segment(id)}/stop`);
    note(activity, { text: `stopped operation ${id}`, href: hrefTo('audit') });
    onDone();
  };
  return (
    <Confirm {...{ title: 'Stop the operation', verb: 'Stop operation', isDestructive: true, run, onClose }}>
      <p>
        {count(done)} of {counted(matched, 'task')} are done; {verb} is not undone for them, and not done for
        the rest.
      </p>
    </Confirm>
  );
}
