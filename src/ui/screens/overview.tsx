import { useState } from 'preact/hooks';
import { ApiProblem } from '../lib/api.ts';
import { useLive, useMay, useParams } from '../lib/app.ts';
import { COUNTED, figuresOf, OTHER_QUEUES, type QueueFigures, ratesOf, sum } from '../lib/figures.ts';
import type { Live } from '../lib/live.ts';
import { type Loaded, useLoad } from '../lib/load.ts';
import { hrefTo } from '../lib/place.ts';
import type { Stats } from '../lib/stats.ts';
import { count, counted } from '../lib/text.ts';
import { type Column, DataTable } from '../parts/data-table.tsx';
import { Empty, LoadedView } from '../parts/loaded.tsx';
import { PauseButton, type QueuePause } from '../parts/pause-queue.tsx';
import { Screen, Section } from '../parts/screen.tsx';
import { Status } from '../parts/status.tsx';
import { Command, Name, Time } from '../parts/text.tsx';
import { Throughput } from '../parts/throughput.tsx';

/** How many tasks of each queue have each status, and what needs attention. */
export function OverviewScreen() {
  const live = useLive();
  const [params, change] = useParams();
  const isSwapped = params.get('columns') === 'queues';
  return (
    <Screen
      title="Overview"
      actions={
        <button type="button" onClick={() => change({ columns: isSwapped ? null : 'queues' })}>
          {isSwapped ? 'Queues as rows' : 'Queues as columns'}
        </button>
      }
    >
      <LoadedView of={loadedOf(live)}>
        {(stats) => (
          <>
            <Summary stats={stats} />
            <Matrix live={live} stats={stats} isSwapped={isSwapped} />
            <Unhandled types={stats.unhandledTypes} />
            <Throughput />
          </>
        )}
      </LoadedView>
    </Screen>
  );
}

/** The figures of the live feed, in the form of loaded data. */
function loadedOf({ stats, sampledMs, state, detail }: Live): Omit<Loaded<Stats>, 'reload'> {
  const problems: Partial<Record<Live['state'], ApiProblem>> = {
    disconnected: new ApiProblem(0, { code: 'unreachable', detail: 'The server cannot be reached.' }),
    trouble: new ApiProblem(503, { code: 'unavailable', detail: detail ?? 'The database does not answer.' }),
    'signed-out': new ApiProblem(401, { code: 'unauthorized', detail: 'You are signed out.' }),
  };
  return {
    data: stats ?? undefined,
    at: sampledMs === null ? undefined : Date.now() - (performance.now() - sampledMs),
    problem: problems[state],
  };
}

function Summary({ stats: { pairs, workers } }: { readonly stats: Stats }) {
  const all = figuresOf({ pairs } as Stats, new Map());
  const total = (status: (typeof COUNTED)[number]) => sum(all.map(({ counts }) => counts[status]));
  const oldest = all.flatMap(({ oldestAt }) => oldestAt ?? []).sort()[0] ?? null;
  return (
    <dl class="summary">
      <Figure name="Due now" value={count(sum(all.map(({ due }) => due)))} />
      <Figure name="Oldest due" value={<Time at={oldest} />} />
      <Figure name="Waiting" value={count(total('pending') + total('blocked'))} />
      <Figure name="Running" value={count(total('running') + total('leased'))} />
      <Figure name="Dead" value={count(total('dead'))} isBad={total('dead') > 0} />
      {workers !== null && (
        <Figure
          name={`Slots busy, ${counted(workers.live ?? 0, 'worker')}`}
          value={`${count(workers.busy ?? 0)} of ${count(workers.slots ?? 0)}`}
          isBad={(workers.live ?? 0) === 0}
        />
      )}
    </dl>
  );
}

interface FigureProps {
  readonly name: string;
  readonly value: preact.ComponentChildren;
  readonly isBad?: boolean;
}

function Figure({ name, value, isBad = false }: FigureProps) {
  return (
    <div class={isBad ? 'bad' : ''}>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}

interface MatrixProps {
  readonly live: Live;
  readonly stats: Stats;
  readonly isSwapped: boolean;
}

/** A row or a column of the matrix besides the queues themselves. */
interface Measure {
  readonly title: string;
  readonly heading?: preact.ComponentChildren;
  cell(of: QueueFigures): preact.ComponentChildren;
}

function Matrix({ live, stats, isSwapped }: MatrixProps) {
  const queues = useLoad<{ readonly queues: readonly QueuePause[] }>('queues');
  const known = queues.data?.queues ?? [];
  const mayPause = useMay('operator');
  const figures = figuresOf(
    stats,
    ratesOf(live.history),
    known.map(({ name }) => name),
  );
  if (figures.length === 0) return <NoQueue isSampled={stats.sampledAt !== null} />;
  const pauseOf = ({ queue }: QueueFigures) => known.find(({ name }) => name === queue);
  const measures: readonly Measure[] = [
    {
      title: 'Pause',
      cell: (of) => (
        <PauseButton queue={of.queue} pause={pauseOf(of)} mayPause={mayPause} onDone={queues.reload} />
      ),
    },
    ...COUNTED.map((status) => ({
      title: status,
      heading: <Status name={status} />,
      cell: (of: QueueFigures) => <CountLink of={of} status={status} />,
    })),
    { title: 'Due', cell: ({ due }) => count(due) },
    { title: 'Oldest due', cell: ({ oldestAt }) => <Time at={oldestAt} /> },
    { title: 'Done per min', cell: ({ rate }) => (rate === null ? '–' : count(Math.round(rate * 10) / 10)) },
  ];
  return isSwapped ? (
    <DataTable
      caption="Tasks by status and queue"
      rows={measures}
      keyOf={({ title }) => title}
      columns={[
        { title: 'Status', cell: ({ title, heading = title }) => heading },
        ...figures.map((of) => ({
          title: of.queue,
          heading: <QueueLink queue={of.queue} />,
          align: 'end' as const,
          cell: ({ cell }: Measure) => cell(of),
        })),
      ]}
    />
  ) : (
    <DataTable
      caption="Tasks by queue and status"
      rows={figures}
      keyOf={({ queue }) => queue}
      columns={[
        { title: 'Queue', cell: ({ queue }) => <QueueLink queue={queue} /> },
        ...measures.map(
          ({ title, heading, cell }): Column<QueueFigures> => ({
            ...{ title, cell, align: 'end' },
            ...(heading !== undefined && { heading }),
          }),
        ),
      ]}
    />
  );
}

function QueueLink({ queue }: { readonly queue: string }) {
  if (queue === OTHER_QUEUES) return <span class="muted">all others</span>;
  return (
    <a href={hrefTo('tasks', [], { queue })}>
      <Name text={queue} />
    </a>
  );
}

function CountLink({ of, status }: { readonly of: QueueFigures; readonly status: (typeof COUNTED)[number] }) {
  const value = of.counts[status];
  if (of.queue === OTHER_QUEUES) return <>{count(value)}</>;
  return (
    <a
      class={value === 0 ? 'zero' : ''}
      href={hrefTo('tasks', [], { queue: of.queue, status })}
      aria-label={`${count(value)} ${status} of ${of.queue}`}
    >
      {count(value)}
    </a>
  );
}

function NoQueue({ isSampled }: { readonly isSampled: boolean }) {
  return isSampled ? (
    <Empty text="No queue has a task." command={`taskq enqueue greet '{"name":"Ann"}'`} />
  ) : (
    <Empty
      text="No worker has counted the tasks yet: one that runs does so every 15 seconds."
      command="taskq work"
    />
  );
}

/** How many to name at most. */
const MOST_NAMED = 20;

function Unhandled({ types }: { readonly types: readonly string[] }) {
  const [isWhole, setWhole] = useState(false);
  if (types.length === 0) return null;
  const named = isWhole ? types : types.slice(0, MOST_NAMED);
  return (
    <Section title="Types that no worker handles">
      <div class="card warning">
        <p>Tasks of these types wait until a worker has a handler for them. Add the handler, and start</p>
        <Command text="taskq work" />
        <ul class="chips">
          {named.map((type) => (
            <li key={type}>
              <a href={hrefTo('tasks', [], { type, status: 'pending' })}>
                <Name text={type} />
              </a>
            </li>
          ))}
          {named.length < types.length && (
            <li>
              <button type="button" class="quiet small" onClick={() => setWhole(true)}>
                {count(types.length - named.length)} more
              </button>
            </li>
          )}
        </ul>
      </div>
    </Section>
  );
}
