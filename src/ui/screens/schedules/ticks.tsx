import type { Preview } from '../../lib/schedule.ts';
import { DataTable } from '../../parts/data-table.tsx';
import { Time } from '../../parts/text.tsx';

/** When a schedule fires next. */
export function Ticks({ of: { ticks, tz } }: { readonly of: Preview }) {
  if (ticks.length === 0) return <p>It never fires again.</p>;
  return (
    <DataTable
      caption={`Ticks as clocks of ${tz} show them`}
      rows={ticks}
      keyOf={({ tick }) => tick}
      columns={[
        { title: 'Tick', cell: ({ local }) => <span class="mono">{local}</span> },
        { title: 'Task due', cell: ({ due }) => <Time at={due} /> },
      ]}
    />
  );
}
