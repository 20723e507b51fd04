import { useState } from 'preact/hooks';
import { useMay, useParams } from '../lib/app.ts';
import { stringifyJson } from '../lib/json.ts';
import { useList } from '../lib/list.ts';
import { hrefTo } from '../lib/place.ts';
import { STATUSES, type Task } from '../lib/task.ts';
import { listPath } from '../lib/task-filter.ts';
import { visible } from '../lib/text.ts';
import type { Column } from '../parts/data-table.tsx';
import { type Filter, Filters } from '../parts/filters.tsx';
import { ListView } from '../parts/list-view.tsx';
import { Empty } from '../parts/loaded.tsx';
import { Screen } from '../parts/screen.tsx';
import { Status } from '../parts/status.tsx';
import { Name, Time } from '../parts/text.tsx';
import { BulkActions, NONE, type Picked } from './tasks/bulk-actions.tsx';

const FILTERS: readonly Filter[] = [
  { name: 'queue', label: 'Queue' },
  { name: 'type', label: 'Type' },
  { name: 'status', label: 'Status', options: STATUSES },
  { name: 'tag', label: 'Tag', placeholder: 'name=value' },
  { name: 'key', label: 'Key' },
  { name: 'group', label: 'Group' },
  { name: 'workflow', label: 'Workflow' },
  { name: 'payload', label: 'Payload', placeholder: 'order.id=42' },
];

/** Parameters that charts and other screens set in links. */
const LINKED = {
  ...{ since: 'Since', before: 'Before', reason: 'Reason', priority: 'Priority', failed: 'Failed' },
  fingerprint: 'Fingerprint',
};

const COLUMNS: readonly Column<Task>[] = [
  { title: 'Task', cell: ({ id }) => <span class="mono">{id}</span> },
  { title: 'Type', cell: ({ type }) => <Name text={type} /> },
  { title: 'Status', cell: ({ status }) => <Status name={status} /> },
  { title: 'Queue', cell: ({ queue }) => <Name text={queue} /> },
  { title: 'Failed', align: 'end', isWide: true, cell: ({ attempts }) => attempts },
  { title: 'Created', isWide: true, cell: ({ createdAt }) => <Time at={createdAt} /> },
  { title: 'Changed', isWide: true, cell: ({ updatedAt }) => <Time at={updatedAt} /> },
  { title: 'Payload or error', isWide: true, cell: (task) => <Excerpt of={task} /> },
];

/** The part of a payload or an error that fits on one line. */
const EXCERPT = 160;

function Excerpt({ of: { error, status, payload } }: { readonly of: Task }) {
  const isDead = status === 'dead' && error !== null;
  const text = isDead ? `${error.name}: ${error.message}` : stringifyJson(payload);
  return <bdi class={`excerpt ${isDead ? 'fault' : 'mono'}`}>{visible(text.slice(0, EXCERPT))}</bdi>;
}

const keyOf = ({ id }: Task) => id;

/** The tasks of a filter, and the actions on selected ones. */
export function TasksScreen() {
  const [params] = useParams();
  const path = listPath(params);
  const list = useList<Task>({ path, member: 'tasks', keyOf });
  const mayAct = useMay('operator');
  const mayEnqueue = useMay('producer');
  const [picked, pick] = usePicked(path);
  const selection = {
    keys: picked.keys,
    change: (keys: ReadonlySet<string>) => pick({ keys, isAll: false }),
  };
  return (
    <Screen
      title="Tasks"
      actions={
        mayEnqueue && (
          <a class="button" href={hrefTo('enqueue')}>
            Enqueue a task
          </a>
        )
      }
    >
      <Filters of={FILTERS} linked={LINKED} />
      <ListView
        list={list}
        caption="Tasks, newest first"
        columns={COLUMNS}
        keyOf={keyOf}
        hrefOf={({ id }) => hrefTo('task', [id])}
        selection={mayAct ? selection : undefined}
        empty={
          params.size === 0 ? (
            <Empty text="There is no task." command={`taskq enqueue greet '{"name":"Ann"}'`} />
          ) : (
            <Empty text="No task matches the filter." />
          )
        }
      />
      {mayAct && (
        <BulkActions
          tasks={list.data ?? []}
          isMore={list.more !== undefined}
          {...{ params, selection, picked, pick }}
          onDone={() => {
            pick(NONE);
            list.reload();
          }}
        />
      )}
    </Screen>
  );
}

/** The selected tasks; a change of the filter clears the selection. */
function usePicked(path: string): readonly [Picked, (picked: Picked) => void] {
  const [state, setState] = useState({ path, picked: NONE });
  return [state.path === path ? state.picked : NONE, (picked) => setState({ path, picked })];
}
