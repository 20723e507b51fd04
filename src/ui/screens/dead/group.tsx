import { useMemo, useState } from 'preact/hooks';
import { segment } from '../../lib/api.ts';
import { useMay, useParams } from '../../lib/app.ts';
import { causeOf, type DeadGroup, trendText } from '../../lib/dead-group.ts';
import { useLoad } from '../../lib/load.ts';
import { hrefTo } from '../../lib/place.ts';
import type { TaskDetails } from '../../lib/task.ts';
import { count, visible } from '../../lib/text.ts';
import { useKeys } from '../../lib/use-keys.ts';
import { Chart } from '../../parts/chart.tsx';
import { JsonView } from '../../parts/json-view.tsx';
import { LoadedView } from '../../parts/loaded.tsx';
import { Facts, Screen, Section } from '../../parts/screen.tsx';
import { CopyButton, Name, Time } from '../../parts/text.tsx';
import { GroupDialog, type GroupVerb, leftOut } from './dialogs.tsx';
import { Letters } from './letters.tsx';

/** A group of dead letters: their cause of death, the letters, and the actions on all of them. */
export function DeadGroupScreen({ fingerprint }: { readonly fingerprint: string }) {
  const group = useLoad<DeadGroup>(`dead/groups/${segment(fingerprint)}`);
  const [params] = useParams();
  const [verb, setVerb] = useState<GroupVerb>();
  const mayChange = useMay('operator');
  useKeys(
    mayChange
      ? [
          { keys: 'v', text: 'revive the group', run: () => setVerb('revive') },
          { keys: 'd', text: 'discard the group', run: () => setVerb('discard') },
        ]
      : [],
  );
  const queue = params.get('queue');
  return (
    <Screen
      title={`Dead letters ${visible(fingerprint)}`}
      heading={group.data === undefined ? 'Dead letters' : <Name text={causeOf(group.data)} />}
      actions={
        mayChange && (
          <>
            <button type="button" class="primary" onClick={() => setVerb('revive')}>
              Revive all…
            </button>
            <button type="button" class="danger" onClick={() => setVerb('discard')}>
              Discard all…
            </button>
          </>
        )
      }
    >
      <LoadedView of={group}>
        {(of) => (
          <>
            <About group={of} />
            {of.trend && <Trend trend={of.trend} until={group.at!} />}
            <Example id={of.lastId} />
          </>
        )}
      </LoadedView>
      <Letters fingerprint={fingerprint} onDone={group.reload} />
      {verb !== undefined && (
        <GroupDialog
          verb={verb}
          filter={{ fingerprint, ...(queue && { queue }) }}
          remark={leftOut(queue)}
          onDone={group.reload}
          onClose={() => setVerb(undefined)}
        />
      )}
    </Screen>
  );
}

function About({ group }: { readonly group: DeadGroup }) {
  const { fingerprint, type, reason, firstAt, lastAt } = group;
  return (
    <Facts
      of={[
        ['Letters', count(group.count)],
        ['Died in the last hour', trendText(group)],
        ['First', <Time at={firstAt} />],
        ['Last', <Time at={lastAt} />],
        ['Type', <Name text={type} />],
        ['Reason', <Name text={reason} />],
        [
          'Group',
          <>
            <code>{visible(fingerprint)}</code> <CopyButton text={fingerprint} what="the name of the group" />
          </>,
        ],
      ]}
    />
  );
}

const HOUR_MS = 3_600_000;

function Trend({ trend, until }: { readonly trend: readonly number[]; readonly until: number }) {
  // Redrawn only when the figures change.
  const [times, series] = useMemo(
    () =>
      [
        trend.map((_, place) => new Date(until - (trend.length - place) * HOUR_MS).toISOString()),
        [{ label: 'died', values: trend, tone: 'bad' }],
      ] as const,
    [trend, until],
  );
  return (
    <Section title="24 hours">
      <Chart title="Deaths in each hour" times={times} series={series} format={count} />
    </Section>
  );
}

/** The error of the last letter, as an example for the group. */
function Example({ id }: { readonly id: string }) {
  const letter = useLoad<TaskDetails>(`tasks/${segment(id)}`);
  return (
    <Section title="The last letter" actions={<a href={hrefTo('task', [id])}>Task {id}</a>}>
      <LoadedView of={letter}>
        {({ error, reason, payload }) => (
          <>
            <pre class="card stack">{visible(error?.stack ?? error?.message ?? reason ?? 'no error')}</pre>
            <JsonView value={payload} what="the payload" />
          </>
        )}
      </LoadedView>
    </Section>
  );
}
