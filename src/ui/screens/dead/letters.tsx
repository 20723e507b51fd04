import { useState } from 'preact/hooks';
import { withQuery } from '../../lib/api.ts';
import { useMay, useParams } from '../../lib/app.ts';
import { causeOf } from '../../lib/dead-group.ts';
import { stringifyJson } from '../../lib/json.ts';
import { useList } from '../../lib/list.ts';
import { hrefTo } from '../../lib/place.ts';
import type { Task } from '../../lib/task.ts';
import { visible } from '../../lib/text.ts';
import { ActionBar } from '../../parts/action-bar.tsx';
import type { Column } from '../../parts/data-table.tsx';
import { Filters } from '../../parts/filters.tsx';
import { ListView } from '../../parts/list-view.tsx';
import { Empty } from '../../parts/loaded.tsx';
import { Section } from '../../parts/screen.tsx';
import { Name, Time } from '../../parts/text.tsx';
import { ChangedRevive, GroupDialog, type GroupVerb } from './dialogs.tsx';

const COLUMNS: readonly Column<Task>[] = [
  { title: 'Task', cell: ({ id }) => <span class="mono">{id}</span> },
  { title: 'Type', isWide: true, cell: ({ type }) => <Name text={type} /> },
  {
    title: 'Last error',
    isWide: true,
    cell: ({ error, reason }) => (
      <Name
        text={causeOf({
          errorName: error?.name ?? null,
          message: error?.message ?? null,
          reason: reason ?? '',
        })}
      />
    ),
  },
  { title: 'Attempts', align: 'end', cell: ({ attempts }) => attempts },
  { title: 'Died', cell: ({ finishedAt }) => <Time at={finishedAt} /> },
  { title: 'Queue', isWide: true, cell: ({ queue }) => <Name text={queue} /> },
  {
    title: 'Payload',
    cell: ({ payload }) => <span class="mono payload">{visible(stringifyJson(payload).slice(0, 120))}</span>,
  },
];

const keyOf = ({ id }: Task) => id;

type Doing = GroupVerb | 'change';

/** The letters of a group, the last first, and the actions on selected ones. */
export function Letters({ fingerprint, onDone }: { readonly fingerprint: string; onDone(): void }) {
  const [params] = useParams();
  const list = useList<Task>({
    path: withQuery('tasks', { status: 'dead', fingerprint, queue: params.get('queue') ?? '' }),
    member: 'tasks',
    keyOf,
  });
  const [keys, setKeys] = useState<ReadonlySet<string>>(new Set());
  const [doing, setDoing] = useState<Doing>();
  const mayChange = useMay('operator');
  const selection = { keys, change: setKeys };
  const done = () => {
    setKeys(new Set());
    list.reload();
    onDone();
  };
  const only = keys.size === 1 ? list.data?.find(({ id }) => keys.has(id)) : undefined;
  const close = () => setDoing(undefined);
  return (
    <Section title="Letters">
      <Filters of={[{ name: 'queue', label: 'Queue' }]} />
      <ListView
        list={list}
        caption="Dead letters of this group, the last first"
        columns={COLUMNS}
        keyOf={keyOf}
        hrefOf={({ id }) => hrefTo('task', [id])}
        {...(mayChange && { selection })}
        empty={<Empty text="It has no letter any longer." />}
      />
      <ActionBar
        selection={selection}
        isAll={false}
        clear={() => setKeys(new Set())}
        actions={[
          { label: 'Revive…', run: () => setDoing('revive') },
          ...(only === undefined
            ? []
            : [{ label: 'Revive with another payload…', run: () => setDoing('change') }]),
          { label: 'Discard…', isDestructive: true, run: () => setDoing('discard') },
        ]}
      />
      {doing === 'change' && only !== undefined && (
        <ChangedRevive letter={only} onDone={done} onClose={close} />
      )}
      {(doing === 'revive' || doing === 'discard') && (
        <GroupDialog verb={doing} filter={{ ids: [...keys] }} onDone={done} onClose={close} />
      )}
    </Section>
  );
}
