import { useParams } from '../lib/app.ts';
import { stringifyJson } from '../lib/json.ts';
import { useList } from '../lib/list.ts';
import { hrefTo } from '../lib/place.ts';
import { STATUSES, type Task } from '../lib/task.ts';
import { visible } from '../lib/text.ts';
import type { Column } from '../parts/data-table.tsx';
import { type Filter, Filters } from '../parts/filters.tsx';
import { ListView } from '../parts/list-view.tsx';
import { Empty } from '../parts/loaded.tsx';
import { Screen } from '../parts/screen.tsx';
import { Status } from '../parts/status.tsx';
import { Name, Time } from '../parts/text.tsx';

const FILTERS: readonly Filter[] = [
  { name: 'queue', label: 'Queue' },
  { name: 'type', label: 'Type' },
  { name: 'status', label: 'Status', options: STATUSES },
  { name: 'tag', label: 'Tag', placeholder: 'name=value' },
  { name: 'key', label: 'Key' },
  { name: 'group', label: 'Group' },
  { name: 'workflow', label: 'Workflow' },
];

const COLUMNS: readonly Column<Task>[] = [
  { title: 'Task', cell: ({ id }) => <span class="mono">{id}</span> },
  { title: 'Type', cell: ({ type }) => <Name text={type} /> },
  { title: 'Status', cell: ({ status }) => <Status name={status} /> },
  { title: 'Queue', cell: ({ queue }) => <Name text={queue} /> },
  { title: 'Failed', align: 'end', isWide: true, cell: ({ attempts }) => attempts },
  { title: 'Created', isWide: true, cell: ({ createdAt }) => <Time at={createdAt} /> },
  { title: 'Changed', isWide: true, cell: ({ updatedAt }) => <Time at={updatedAt} /> },
  {
    title: 'Payload',
    isWide: true,
    cell: ({ payload }) => <span class="mono payload">{visible(stringifyJson(payload).slice(0, 120))}</span>,
  },
];

const keyOf = ({ id }: Task) => id;

/** The tasks of a filter. */
export function TasksScreen() {
  const [params] = useParams();
  const list = useList<Task>({
    path: params.size === 0 ? 'tasks' : `tasks?${params}`,
    member: 'tasks',
    keyOf,
  });
  return (
    <Screen title="Tasks">
      <Filters of={FILTERS} />
      <ListView
        list={list}
        caption="Tasks, newest first"
        columns={COLUMNS}
        keyOf={keyOf}
        hrefOf={({ id }) => hrefTo('task', [id])}
        empty={
          <Empty text="No task matches." command={`taskq enqueue hello '{"name":"Ann"}' --allow-unknown`} />
        }
      />
    </Screen>
  );
}
