import { useApp, useParams } from '../lib/app.ts';
import { useList } from '../lib/list.ts';
import { hrefTo } from '../lib/place.ts';
import { count } from '../lib/text.ts';
import { slotsText, type Worker } from '../lib/worker.ts';
import type { Column } from '../parts/data-table.tsx';
import { ListView } from '../parts/list-view.tsx';
import { Empty } from '../parts/loaded.tsx';
import { Screen } from '../parts/screen.tsx';
import { Status } from '../parts/status.tsx';
import { Name, Names, Time } from '../parts/text.tsx';
import { WorkerScreen } from './workers/worker.tsx';

const COLUMNS: readonly Column<Worker>[] = [
  { title: 'Worker', cell: ({ name }) => <Name text={name} /> },
  { title: 'State', cell: ({ status }) => <Status name={status} /> },
  { title: 'Slots', align: 'end', cell: slotsText },
  { title: 'Ahead', align: 'end', isWide: true, cell: ({ ahead }) => count(ahead) },
  { title: 'Heartbeat', cell: ({ heartbeatAt }) => <Time at={heartbeatAt} /> },
  { title: 'Started', isWide: true, cell: ({ startedAt }) => <Time at={startedAt} /> },
  { title: 'Version', isWide: true, cell: ({ version }) => version && <Name text={version} /> },
  { title: 'Queues', isWide: true, cell: ({ queues }) => <Names of={queues} none="every queue" /> },
  { title: 'Types', isWide: true, cell: ({ types }) => <Names of={types} /> },
];

const keyOf = ({ id }: Worker) => id;

/** All workers, or one. */
export function WorkersScreen() {
  const [id] = useApp().place.names;
  return id === undefined ? <Workers /> : <WorkerScreen id={id} />;
}

function Workers() {
  const [params, change] = useParams();
  const isAll = params.has('all');
  const list = useList<Worker>({
    path: isAll ? 'workers?all=true' : 'workers',
    member: 'workers',
    keyOf,
  });
  return (
    <Screen
      title="Workers"
      actions={
        <label class="check">
          <input
            type="checkbox"
            checked={isAll}
            onChange={({ currentTarget }) => change({ all: currentTarget.checked ? 'true' : null })}
          />
          Also those that have ended
        </label>
      }
    >
      <ListView
        list={list}
        caption="Workers as of their last heartbeats, newest first"
        columns={COLUMNS}
        keyOf={keyOf}
        hrefOf={({ id }) => hrefTo('workers', [id])}
        empty={<Empty text="No worker runs: tasks wait until one does." command="taskq work" />}
      />
    </Screen>
  );
}
