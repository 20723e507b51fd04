import { withQuery } from '../lib/api.ts';
import { useApp, useParams } from '../lib/app.ts';
import { useList } from '../lib/list.ts';
import { OPERATION_STATES, type Operation } from '../lib/operations.ts';
import { hrefTo } from '../lib/place.ts';
import type { Column } from '../parts/data-table.tsx';
import { type Filter, Filters } from '../parts/filters.tsx';
import { ListView } from '../parts/list-view.tsx';
import { Empty } from '../parts/loaded.tsx';
import { Screen } from '../parts/screen.tsx';
import { Status } from '../parts/status.tsx';
import { Name, Time } from '../parts/text.tsx';
import { OperationView } from './operations/operation-view.tsx';
import { Progress } from './operations/progress.tsx';

const FILTERS: readonly Filter[] = [{ name: 'state', label: 'State', options: OPERATION_STATES }];

const COLUMNS: readonly Column<Operation>[] = [
  { title: 'Operation', cell: ({ id, verb }) => `${verb} ${id}` },
  { title: 'State', cell: ({ state }) => <Status name={state} /> },
  { title: 'Progress', cell: (operation) => <Progress of={operation} /> },
  { title: 'Failed', align: 'end', isWide: true, cell: ({ failed }) => failed },
  { title: 'Who', isWide: true, cell: ({ by }) => (by === null ? '' : <Name text={by} />) },
  { title: 'Why', isWide: true, cell: ({ reason }) => (reason === null ? '' : <Name text={reason} />) },
  { title: 'Started', isWide: true, cell: ({ createdAt }) => <Time at={createdAt} /> },
];

const keyOf = ({ id }: Operation) => id;

/** The bulk operations, or one of them. */
export function OperationsScreen() {
  const [id] = useApp().place.names;
  return id === undefined ? <OperationList /> : <OperationView key={id} id={id} />;
}

function OperationList() {
  const [params] = useParams();
  const list = useList<Operation>({
    path: withQuery('operations', { state: params.get('state') ?? undefined }),
    member: 'operations',
    keyOf,
  });
  return (
    <Screen title="Operations">
      <Filters of={FILTERS} />
      <ListView
        list={list}
        caption="Bulk operations, newest first"
        columns={COLUMNS}
        keyOf={keyOf}
        hrefOf={({ id }) => hrefTo('operations', [id])}
        empty={
          <Empty text="No operation matches. One begins where you act on all tasks that match a filter." />
        }
      />
    </Screen>
  );
}
