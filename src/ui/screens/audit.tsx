import { withQuery } from '../lib/api.ts';
import { useParams } from '../lib/app.ts';
import { useList } from '../lib/list.ts';
import { hrefTo } from '../lib/place.ts';
import { counted } from '../lib/text.ts';
import type { Column } from '../parts/data-table.tsx';
import { type Filter, Filters } from '../parts/filters.tsx';
import { JsonView } from '../parts/json-view.tsx';
import { ListView } from '../parts/list-view.tsx';
import { Empty } from '../parts/loaded.tsx';
import { Screen } from '../parts/screen.tsx';
import { ExactTime, Name } from '../parts/text.tsx';

/** The answer of `GET audit`, an action of it. */
interface Action {
  readonly id: string;
  readonly at: string;
  readonly verb: string;
  readonly role: string;
  readonly by: string | null;
  readonly via: string | null;
  readonly taskIds: readonly string[] | null;
  readonly queue: string | null;
  readonly worker: string | null;
  readonly type: string | null;
  readonly filter: object | null;
  readonly before: object | null;
  /** The values after the action, and its other details. */
  readonly settings: object | null;
  readonly reason: string | null;
}

const FILTERS: readonly Filter[] = [
  { name: 'who', label: 'Who' },
  { name: 'verb', label: 'Verb', placeholder: 'revive' },
  { name: 'since', label: 'Since', placeholder: '2h or 2030-01-31' },
  { name: 'task', label: 'Task', placeholder: 'id' },
];

const COLUMNS: readonly Column<Action>[] = [
  { title: 'When', cell: ({ at }) => <ExactTime at={at} /> },
  { title: 'Who', cell: (action) => <Who of={action} /> },
  { title: 'Verb', cell: ({ verb }) => <Name text={verb} /> },
  { title: 'What', cell: (action) => <What of={action} /> },
  { title: 'Why', cell: ({ reason }) => (reason === null ? '' : <Name text={reason} />) },
  { title: 'Program', isWide: true, cell: ({ via }) => (via === null ? '' : <Name text={via} />) },
  { title: 'Details', isWide: true, cell: (action) => <Details of={action} /> },
];

const keyOf = ({ id }: Action) => id;

/** Who did what, when, why and by which program. */
export function AuditScreen() {
  const [params] = useParams();
  const query = Object.fromEntries(FILTERS.map(({ name }) => [name, params.get(name) ?? undefined]));
  const list = useList<Action>({ path: withQuery('audit', query), member: 'actions', keyOf });
  return (
    <Screen title="Audit">
      <Filters of={FILTERS} />
      <ListView
        list={list}
        caption="What people did, newest first"
        columns={COLUMNS}
        keyOf={keyOf}
        empty={<Empty text="No action matches." command="taskq audit --since 7d" />}
      />
    </Screen>
  );
}

function Who({ of: { by, role } }: { readonly of: Action }) {
  return (
    <>
      <Name text={by ?? role} />
      {by !== null && (
        <div class="muted">
          <Name text={role} />
        </div>
      )}
    </>
  );
}

const IDS_SHOWN = 3;
/** Other objects of an action, and the screen that shows each, if there is one. */
const SETTINGS = {
  group: null,
  schedule: 'schedules',
  workflow: 'workflows',
  operation: 'operations',
  token: null,
} as const;

function What({ of: { taskIds, queue, worker, type, settings } }: { readonly of: Action }) {
  const ids = taskIds ?? [];
  const given = settings as Readonly<Record<string, unknown>> | null;
  const about = [
    ...ids.slice(0, IDS_SHOWN).map((id) => ['task', id, 'task'] as const),
    ...(ids.length > IDS_SHOWN ? [['and', counted(ids.length - IDS_SHOWN, 'more task'), null] as const] : []),
    ...[['queue', queue, null] as const, ['type', type, null] as const, ['worker', worker, null] as const],
    ...Object.entries(SETTINGS).map(([what, screen]) => [what, given?.[what], screen] as const),
  ];
  return (
    <>
      {about.map(
        ([what, name, screen]) =>
          typeof name === 'string' && (
            <div key={what + name}>
              {what}{' '}
              {screen === null ? (
                <Name text={name} />
              ) : (
                <a href={hrefTo(screen, [name])}>
                  <Name text={name} />
                </a>
              )}
            </div>
          ),
      )}
    </>
  );
}

function Details({ of }: { readonly of: Action }) {
  const { filter, before, settings } = of;
  const parts = Object.entries({ filter, before, after: settings }).filter(([, value]) => value !== null);
  if (parts.length === 0) return null;
  return (
    <details class="details">
      <summary>{parts.map(([name]) => name).join(', ')}</summary>
      {parts.map(([name, value]) => (
        <div key={name}>
          <span class="muted">{name}</span>
          <JsonView value={value} what={name} />
        </div>
      ))}
    </details>
  );
}
