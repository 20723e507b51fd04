import { useState } from 'preact/hooks';
import { segment } from '../../lib/api.ts';
import { useMay } from '../../lib/app.ts';
import { useLoad } from '../../lib/load.ts';
import { hrefTo } from '../../lib/place.ts';
import { shortDuration } from '../../lib/settings.ts';
import type { Task } from '../../lib/task.ts';
import { count, visible } from '../../lib/text.ts';
import { useKeys } from '../../lib/use-keys.ts';
import { hasEnded, slotsText, type Worker } from '../../lib/worker.ts';
import { type Column, DataTable } from '../../parts/data-table.tsx';
import { Empty, LoadedView } from '../../parts/loaded.tsx';
import { Facts, Screen, Section } from '../../parts/screen.tsx';
import { Status } from '../../parts/status.tsx';
import { Duration, Name, Time } from '../../parts/text.tsx';
import { WorkerDialog, type WorkerVerb } from './dialogs.tsx';

/** A worker: its state, and the tasks it holds. */
export function WorkerScreen({ id }: { readonly id: string }) {
  const worker = useLoad<Worker>(`workers/${segment(id)}`);
  const [verb, setVerb] = useState<WorkerVerb>();
  const isThere = worker.data !== undefined && !hasEnded(worker.data);
  const mayStop = useMay('operator') && isThere;
  const mayChange = useMay('admin') && isThere;
  const pause = worker.data?.pausedAt == null ? 'pause' : 'resume';
  useKeys(mayStop ? [{ keys: 'p', text: `${pause} the worker`, run: () => setVerb(pause) }] : []);
  return (
    <Screen
      title={`Worker ${visible(worker.data?.name ?? id)}`}
      heading={
        <>
          Worker <Name text={worker.data?.name ?? id} />
        </>
      }
      actions={
        <>
          {mayChange && (
            <button type="button" onClick={() => setVerb('set')}>
              Change…
            </button>
          )}
          {mayStop && (
            <>
              <button type="button" onClick={() => setVerb(pause)}>
                {pause === 'pause' ? 'Pause…' : 'Resume…'}
              </button>
              <button type="button" class="danger" onClick={() => setVerb('stop')}>
                Stop…
              </button>
            </>
          )}
        </>
      }
    >
      <LoadedView of={worker}>
        {(of) => (
          <>
            <About worker={of} />
            {!hasEnded(of) && <Held by={of.name} />}
            <Section title="Types that it handles">
              <TypeList types={of.types} />
            </Section>
          </>
        )}
      </LoadedView>
      {verb !== undefined && worker.data !== undefined && (
        <WorkerDialog
          verb={verb}
          worker={worker.data}
          onDone={worker.reload}
          onClose={() => setVerb(undefined)}
        />
      )}
    </Screen>
  );
}

function About({ worker }: { readonly worker: Worker }) {
  const { status, ahead, timedOut = 0, heartbeatAt, startedAt, stoppedAt, version, host, pid } = worker;
  const { leaseMs, wantedLeaseMs, pollMs, batch, queues, pausedBy, stopRequestedAt, stopRequestedBy } =
    worker;
  return (
    <Facts
      of={[
        ['State', <Status name={status} />],
        ['Paused by', pausedBy == null ? undefined : <Name text={pausedBy} />],
        [
          'Asked to stop',
          stopRequestedAt == null ? undefined : (
            <>
              <Time at={stopRequestedAt} /> <Name text={stopRequestedBy ?? ''} />
            </>
          ),
        ],
        ['Slots in use', slotsText(worker)],
        ['Claimed ahead', count(ahead)],
        ['Beyond their timeout', timedOut === 0 ? undefined : <span class="fault">{count(timedOut)}</span>],
        ['Heartbeat', <Time at={heartbeatAt} />],
        ['Started', <Time at={startedAt} />],
        ['Ended', stoppedAt === null ? undefined : <Time at={stoppedAt} />],
        ['Version', <Name text={version ?? '–'} />],
        ['Host, process', <Name text={`${host}, ${pid}`} />],
        ['Queues', <Name text={queues === null ? 'every queue' : queues.join(', ')} />],
        [
          'Lease',
          `${shortDuration(leaseMs)}${wantedLeaseMs == null ? '' : `, soon ${shortDuration(wantedLeaseMs)}`}`,
        ],
        ['Looks for tasks every', pollMs === null ? undefined : <Duration ms={pollMs} />],
        ['Batch', String(batch)],
      ]}
    />
  );
}

const COLUMNS: readonly Column<Task>[] = [
  { title: 'Task', cell: ({ id }) => <span class="mono">{id}</span> },
  { title: 'Type', cell: ({ type }) => <Name text={type} /> },
  { title: 'Status', cell: ({ status }) => <Status name={status} /> },
  { title: 'Queue', isWide: true, cell: ({ queue }) => <Name text={queue} /> },
  { title: 'Started', cell: ({ startedAt }) => <Time at={startedAt} /> },
  { title: 'Times out', isWide: true, cell: ({ timesOutAt }) => <Time at={timesOutAt} /> },
];

const keyOf = ({ id }: Task) => id;

/** Search this many of the newest running tasks for those of the worker: no index has them by worker. */
const LOOKED_AT = 500;

function Held({ by }: { readonly by: string }) {
  const tasks = useLoad<{ readonly tasks: readonly Task[]; readonly after: string | null }>(
    `tasks?status=running&status=leased&limit=${LOOKED_AT}`,
  );
  return (
    <Section title="Tasks that it holds">
      <LoadedView of={tasks}>
        {({ tasks: found, after }) => {
          const held = found.filter(({ leaseOwner }) => leaseOwner === by);
          return (
            <>
              {held.length === 0 ? (
                <Empty text="It holds no task." />
              ) : (
                <DataTable
                  caption="Tasks in its slots, and those claimed ahead"
                  columns={COLUMNS}
                  rows={held}
                  keyOf={keyOf}
                  hrefOf={({ id }) => hrefTo('task', [id])}
                />
              )}
              {after !== null && (
                <p class="muted">Only the newest {count(LOOKED_AT)} tasks of all workers were looked at.</p>
              )}
            </>
          );
        }}
      </LoadedView>
    </Section>
  );
}

function TypeList({ types }: { readonly types: readonly string[] }) {
  if (types.length === 0) return <Empty text="It has no handler." />;
  return (
    <ul class="card chips">
      {types.map((type) => (
        <li key={type}>
          <a href={hrefTo('types', [type])}>
            <Name text={type} />
          </a>
        </li>
      ))}
    </ul>
  );
}
