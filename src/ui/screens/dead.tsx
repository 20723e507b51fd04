import { useApp, useParams } from '../lib/app.ts';
import { causeOf, type DeadGroup, trendText } from '../lib/dead-group.ts';
import { useList } from '../lib/list.ts';
import { hrefTo } from '../lib/place.ts';
import { count } from '../lib/text.ts';
import { Bars } from '../parts/bars.tsx';
import type { Column } from '../parts/data-table.tsx';
import { Filters } from '../parts/filters.tsx';
import { ListView } from '../parts/list-view.tsx';
import { Empty } from '../parts/loaded.tsx';
import { Screen } from '../parts/screen.tsx';
import { Name, Time } from '../parts/text.tsx';
import { DeadGroupScreen } from './dead/group.tsx';

const COLUMNS: readonly Column<DeadGroup>[] = [
  { title: 'Error', cell: (group) => <Name text={causeOf(group)} /> },
  { title: 'Letters', align: 'end', cell: (group) => count(group.count) },
  { title: 'Last hour', cell: trendText },
  {
    title: '24 hours',
    isWide: true,
    cell: ({ trend }) =>
      trend && (
        <Bars
          values={trend}
          label={`Deaths in each of 24 hours: ${count(Math.max(...trend))} at most, ${count(trend.at(-1) ?? 0)} in the last`}
        />
      ),
  },
  { title: 'Type', isWide: true, cell: ({ type }) => <Name text={type} /> },
  { title: 'First', isWide: true, cell: ({ firstAt }) => <Time at={firstAt} /> },
  { title: 'Last', isWide: true, cell: ({ lastAt }) => <Time at={lastAt} /> },
];

const keyOf = ({ fingerprint }: DeadGroup) => fingerprint;

/** The dead letters, grouped by cause of death; or one group. */
export function DeadScreen() {
  const [fingerprint] = useApp().place.names;
  return fingerprint === undefined ? <Groups /> : <DeadGroupScreen fingerprint={fingerprint} />;
}

function Groups() {
  const [params] = useParams();
  const list = useList<DeadGroup>({
    path: params.size === 0 ? 'dead/groups' : `dead/groups?${params}`,
    member: 'groups',
    keyOf,
  });
  const queue = params.get('queue');
  return (
    <Screen
      title="Dead letters"
      actions={<a href={hrefTo('tasks', [], { status: 'dead', queue })}>One by one</a>}
    >
      <Filters
        of={[
          { name: 'queue', label: 'Queue' },
          { name: 'type', label: 'Type' },
        ]}
      />
      <ListView
        list={list}
        caption="Groups of dead letters with the same error, the largest first"
        columns={COLUMNS}
        keyOf={keyOf}
        hrefOf={({ fingerprint }) => hrefTo('dead', [fingerprint], { queue })}
        empty={
          <Empty
            text={
              params.size === 0
                ? 'No task has died of an error. What dies is kept here until someone decides.'
                : 'No dead letter matches.'
            }
            command="taskq dead list"
          />
        }
      />
    </Screen>
  );
}
