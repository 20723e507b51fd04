import { useLive, useSeesAll } from '../lib/app.ts';
import { depthsBy } from '../lib/depth.ts';
import { useLoad } from '../lib/load.ts';
import { hrefTo } from '../lib/place.ts';
import { limitsText, type Queue, rateText } from '../lib/queue.ts';
import { settingText, TYPE_SETTINGS } from '../lib/settings.ts';
import { count } from '../lib/text.ts';
import type { Type } from '../lib/type.ts';
import { type Column, DataTable } from '../parts/data-table.tsx';
import { Empty, LoadedView } from '../parts/loaded.tsx';
import { Screen, Section } from '../parts/screen.tsx';
import { Status } from '../parts/status.tsx';
import { Count, Name, Time } from '../parts/text.tsx';

const keyOf = ({ name }: { readonly name: string }) => name;

/** Everything that keeps due tasks from starting: the limits of queues and their groups, and the breakers of types. */
export function LimitsScreen() {
  return (
    <Screen title="Limits">
      <QueueLimits />
      {useSeesAll() && <Breakers />}
    </Screen>
  );
}

function QueueLimits() {
  const { stats } = useLive();
  const queues = useLoad<{ readonly queues: readonly Queue[] }>('queues');
  const depths = depthsBy('queue', stats);
  const columns: readonly Column<Queue>[] = [
    { title: 'Queue', cell: ({ name }) => <Name text={name} /> },
    {
      title: 'Running',
      align: 'end',
      cell: ({ name, maxRunning }) => (
        <>
          <Count of={depths.of(name)?.running} />
          {maxRunning !== null && ` of ${count(maxRunning)}`}
        </>
      ),
    },
    { title: 'Due', align: 'end', cell: ({ name }) => <Count of={depths.of(name)?.due} /> },
    { title: 'Rate', cell: ({ rate, burst }) => rateText(rate, burst) || NONE },
    { title: 'Each group at once', isWide: true, align: 'end', cell: ({ groupLimit }) => groupLimit ?? NONE },
    { title: 'Each group’s rate', isWide: true, cell: ({ groupRate }) => groupRate ?? NONE },
  ];
  return (
    <Section title="Queues">
      <LoadedView of={queues}>
        {({ queues: found }) => {
          const limited = found.filter((queue) => limitsText(queue) !== null);
          return limited.length === 0 ? (
            <Empty text="No queue has a limit." command="taskq queues set mail --max-running 10" />
          ) : (
            <DataTable
              caption="Queues with a limit; groups may have their own, shown with their queue"
              columns={columns}
              rows={limited}
              keyOf={keyOf}
              hrefOf={({ name }) => hrefTo('queues', [name])}
            />
          );
        }}
      </LoadedView>
    </Section>
  );
}

const NONE = <span class="muted">–</span>;
const BREAKER = TYPE_SETTINGS.find(({ name }) => name === 'breaker')!;

const BREAKERS: readonly Column<Type>[] = [
  { title: 'Type', cell: ({ name }) => <Name text={name} /> },
  { title: 'Opens at', cell: ({ breaker }) => settingText(BREAKER, breaker) ?? NONE },
  {
    title: 'State',
    cell: ({ breakerOpenedAt }) => <Status name={breakerOpenedAt === null ? 'closed' : 'breaker open'} />,
  },
  { title: 'Since', isWide: true, cell: ({ breakerOpenedAt }) => <Time at={breakerOpenedAt} /> },
];

function Breakers() {
  const types = useLoad<{ readonly types: readonly Type[] }>('types');
  return (
    <Section title="Breakers">
      <LoadedView of={types}>
        {({ types: found }) => {
          const guarded = found.filter(
            ({ breaker, breakerOpenedAt }) => breaker !== null || breakerOpenedAt !== null,
          );
          return guarded.length === 0 ? (
            <Empty text="No type has a breaker." command="taskq types set report --breaker 5/1m" />
          ) : (
            <DataTable
              caption="Types with a breaker, which stops them when they keep failing"
              columns={BREAKERS}
              rows={guarded}
              keyOf={keyOf}
              hrefOf={({ name }) => hrefTo('types', [name])}
            />
          );
        }}
      </LoadedView>
    </Section>
  );
}
