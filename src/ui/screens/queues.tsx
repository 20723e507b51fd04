import { useApp, useLive } from '../lib/app.ts';
import { type Depth, depthsBy } from '../lib/depth.ts';
import { useLoad } from '../lib/load.ts';
import { hrefTo } from '../lib/place.ts';
import { limitsText, type Queue } from '../lib/queue.ts';
import { type Column, DataTable } from '../parts/data-table.tsx';
import { Empty, LoadedView } from '../parts/loaded.tsx';
import { PauseState } from '../parts/pause.tsx';
import { Screen } from '../parts/screen.tsx';
import { Count, Name, Time } from '../parts/text.tsx';
import { GroupScreen } from './queues/group.tsx';
import { QueueScreen } from './queues/queue.tsx';

type Row = Queue & { readonly depth: Depth | undefined };

const COLUMNS: readonly Column<Row>[] = [
  { title: 'Queue', cell: ({ name }) => <Name text={name} /> },
  { title: 'Waiting', align: 'end', cell: ({ depth }) => <Count of={depth?.waiting} /> },
  { title: 'Due', align: 'end', cell: ({ depth }) => <Count of={depth?.due} /> },
  { title: 'Running', align: 'end', isWide: true, cell: ({ depth }) => <Count of={depth?.running} /> },
  { title: 'Dead', align: 'end', isWide: true, cell: ({ depth }) => <Count of={depth?.dead} /> },
  { title: 'Oldest due', isWide: true, cell: ({ depth }) => <Time at={depth?.oldestAt} /> },
  {
    title: 'Pause',
    cell: ({ pausedAt, pausedUntil, pausedBy, pauseReason }) => (
      <PauseState since={pausedAt} until={pausedUntil} by={pausedBy} reason={pauseReason} />
    ),
  },
  {
    title: 'Limits',
    isWide: true,
    cell: (queue) => limitsText(queue) ?? <span class="muted">–</span>,
  },
];

const keyOf = ({ name }: Row) => name;

/** All queues, a queue, or a group of one. */
export function QueuesScreen() {
  const [queue, group] = useApp().place.names;
  if (queue === undefined) return <Queues />;
  return group === undefined ? <QueueScreen name={queue} /> : <GroupScreen queue={queue} name={group} />;
}

function Queues() {
  const { stats } = useLive();
  const queues = useLoad<{ readonly queues: readonly Queue[] }>('queues');
  const depths = depthsBy('queue', stats);
  return (
    <Screen title="Queues" actions={<a href={hrefTo('limits')}>Limits</a>}>
      <LoadedView of={queues}>
        {({ queues: found }) =>
          found.length === 0 ? (
            <Empty
              text="No queue has a task, a setting or a pause."
              command={`taskq enqueue hello '{"name":"Ann"}' --queue mail --allow-unknown`}
            />
          ) : (
            <DataTable
              caption="Queues that have a live task, a setting or a pause"
              columns={COLUMNS}
              rows={found.map((queue) => ({ ...queue, depth: depths.of(queue.name) }))}
              keyOf={keyOf}
              hrefOf={({ name }) => hrefTo('queues', [name])}
            />
          )
        }
      </LoadedView>
    </Screen>
  );
}
