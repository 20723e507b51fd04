import { useState } from 'preact/hooks';
import { useApp, useLive, useMay } from '../lib/app.ts';
import { type Depth, depthsBy } from '../lib/depth.ts';
import { useLoad } from '../lib/load.ts';
import { hrefTo } from '../lib/place.ts';
import { count } from '../lib/text.ts';
import type { Type } from '../lib/type.ts';
import { type Column, DataTable } from '../parts/data-table.tsx';
import { Empty, LoadedView } from '../parts/loaded.tsx';
import { Screen } from '../parts/screen.tsx';
import { Status } from '../parts/status.tsx';
import { Count, Name, Time } from '../parts/text.tsx';
import { AddTypeDialog } from './types/dialogs.tsx';
import { TypeScreen } from './types/type.tsx';

interface Row {
  readonly name: string;
  readonly depth: Depth | undefined;
  /** Undefined: only tasks name it. */
  readonly type: Type | undefined;
}

const NONE = <span class="muted">–</span>;

const COLUMNS: readonly Column<Row>[] = [
  { title: 'Type', cell: ({ name }) => <Name text={name} /> },
  { title: 'Handled by', cell: ({ type }) => <Handled by={type} /> },
  {
    title: 'Breaker',
    cell: ({ type }) => (type?.breakerOpenedAt == null ? NONE : <Status name="breaker open" />),
  },
  { title: 'Waiting', align: 'end', cell: ({ depth }) => <Count of={depth?.waiting} /> },
  { title: 'Running', align: 'end', isWide: true, cell: ({ depth }) => <Count of={depth?.running} /> },
  { title: 'Dead', align: 'end', isWide: true, cell: ({ depth }) => <Count of={depth?.dead} /> },
  { title: 'Oldest due', isWide: true, cell: ({ depth }) => <Time at={depth?.oldestAt} /> },
  { title: 'Last seen', isWide: true, cell: ({ type }) => <Time at={type?.lastSeenAt} /> },
];

const keyOf = ({ name }: Row) => name;

/** How many live workers handle a type. */
export function Handled({ by }: { readonly by: Type | undefined }) {
  if (by === undefined) return <Status name="unknown" />;
  if (by.workers.length === 0) return <Status name="unhandled" />;
  return <>{by.workers.length === 1 ? '1 worker' : `${count(by.workers.length)} workers`}</>;
}

/** All types, or one. */
export function TypesScreen() {
  const [name] = useApp().place.names;
  return name === undefined ? <Types /> : <TypeScreen name={name} />;
}

function Types() {
  const { stats } = useLive();
  const types = useLoad<{ readonly types: readonly Type[] }>('types');
  const [isAdding, add] = useState(false);
  const mayAdd = useMay('operator');
  const depths = depthsBy('type', stats);
  const rowsOf = (found: readonly Type[]): readonly Row[] => {
    const known = new Map(found.map((type) => [type.name, type]));
    const names = new Set([...known.keys(), ...depths.names]);
    // The sum of the types left out of the sample.
    names.delete('_other');
    return [...names].sort().map((name) => ({ name, depth: depths.of(name), type: known.get(name) }));
  };
  return (
    <Screen
      title="Types"
      actions={
        <>
          <a href={hrefTo('limits')}>Limits</a>
          {mayAdd && (
            <button type="button" onClick={() => add(true)}>
              Make known…
            </button>
          )}
        </>
      }
    >
      <LoadedView of={types}>
        {({ types: found }) => {
          const rows = rowsOf(found);
          return rows.length === 0 ? (
            <Empty
              text="No type is known. A worker makes those known that it has handlers for."
              command="taskq work"
            />
          ) : (
            <DataTable
              caption="Types, by name"
              columns={COLUMNS}
              rows={rows}
              keyOf={keyOf}
              hrefOf={({ name }) => hrefTo('types', [name])}
            />
          );
        }}
      </LoadedView>
      {isAdding && <AddTypeDialog onDone={types.reload} onClose={() => add(false)} />}
    </Screen>
  );
}
