import { segment } from '../../lib/api.ts';
import { useList } from '../../lib/list.ts';
import { hrefTo } from '../../lib/place.ts';
import { type Group, rateText } from '../../lib/queue.ts';
import { count } from '../../lib/text.ts';
import type { Column } from '../../parts/data-table.tsx';
import { ListView } from '../../parts/list-view.tsx';
import { Empty } from '../../parts/loaded.tsx';
import { PauseState } from '../../parts/pause.tsx';
import { Section } from '../../parts/screen.tsx';
import { Name } from '../../parts/text.tsx';

const COLUMNS: readonly Column<Group>[] = [
  { title: 'Group', cell: ({ name }) => <Name text={name} /> },
  { title: 'Slots', align: 'end', cell: slotsText },
  { title: 'Waiting', align: 'end', cell: ({ waiting }) => count(waiting) },
  { title: 'Delayed', align: 'end', isWide: true, cell: ({ delayed }) => count(delayed) },
  {
    title: 'Rate',
    isWide: true,
    cell: ({ rate, burst }) => rateText(rate, burst) || <span class="muted">–</span>,
  },
  {
    title: 'Pause',
    cell: ({ pausedAt, pausedBy, pauseReason }) => (
      <PauseState since={pausedAt} by={pausedBy} reason={pauseReason} />
    ),
  },
];

const keyOf = ({ name }: Group) => name;

/** The slots of a group that its tasks have: `1 of 2`. */
export function slotsText({ holding, slots }: Pick<Group, 'holding' | 'slots'>): string {
  return slots === null ? count(holding) : `${count(holding)} of ${count(slots)}`;
}

/** The groups of a queue. */
export function Groups({ queue }: { readonly queue: string }) {
  const list = useList<Group>({ path: `queues/${segment(queue)}/groups`, member: 'groups', keyOf });
  return (
    <Section title="Groups">
      <ListView
        list={list}
        caption="Groups that have a live task, a setting or a pause"
        columns={COLUMNS}
        keyOf={keyOf}
        hrefOf={({ name }) => hrefTo('queues', [queue, name])}
        empty={
          <Empty
            text="No group. Tasks of a group share a limit and keep their order."
            command={`taskq enqueue hello '{}' --group tenant-7 --allow-unknown`}
          />
        }
      />
    </Section>
  );
}
