import { withQuery } from '../lib/api.ts';
import { useApp, useParams } from '../lib/app.ts';
import { useList } from '../lib/list.ts';
import { hrefTo } from '../lib/place.ts';
import { WORKFLOW_STATES, type Workflow } from '../lib/workflow.ts';
import type { Column } from '../parts/data-table.tsx';
import { type Filter, Filters } from '../parts/filters.tsx';
import { ListView } from '../parts/list-view.tsx';
import { Empty } from '../parts/loaded.tsx';
import { Screen } from '../parts/screen.tsx';
import { Status } from '../parts/status.tsx';
import { Name, Time } from '../parts/text.tsx';
import { WorkflowView } from './workflows/workflow-view.tsx';

const FILTERS: readonly Filter[] = [{ name: 'state', label: 'State', options: WORKFLOW_STATES }];

const COLUMNS: readonly Column<Workflow>[] = [
  { title: 'Workflow', cell: ({ name }) => <Name text={name} /> },
  { title: 'Id', isWide: true, cell: ({ id }) => <span class="mono">{id}</span> },
  { title: 'State', cell: ({ state }) => <Status name={state} /> },
  { title: 'Live steps', align: 'end', cell: ({ liveSteps }) => liveSteps },
  { title: 'Waiting', align: 'end', isWide: true, cell: ({ waitingSteps }) => waitingSteps },
  { title: 'Deaths', align: 'end', isWide: true, cell: ({ deaths }) => deaths },
  { title: 'Created', isWide: true, cell: ({ createdAt }) => <Time at={createdAt} /> },
  { title: 'Ended', cell: ({ endedAt }) => <Time at={endedAt} /> },
];

const keyOf = ({ id }: Workflow) => id;

/** The workflows, or one of them. */
export function WorkflowsScreen() {
  const [id] = useApp().place.names;
  return id === undefined ? <WorkflowList /> : <WorkflowView key={id} id={id} />;
}

function WorkflowList() {
  const [params] = useParams();
  const list = useList<Workflow>({
    path: withQuery('workflows', { state: params.get('state') ?? undefined }),
    member: 'workflows',
    keyOf,
  });
  return (
    <Screen title="Workflows">
      <Filters of={FILTERS} />
      <ListView
        list={list}
        caption="Workflows, newest first"
        columns={COLUMNS}
        keyOf={keyOf}
        hrefOf={({ id }) => hrefTo('workflows', [id])}
        empty={<Empty text="No workflow matches." command="taskq workflow run import.json" />}
      />
    </Screen>
  );
}
