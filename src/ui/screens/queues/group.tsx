import { useState } from 'preact/hooks';
import { segment } from '../../lib/api.ts';
import { useMay } from '../../lib/app.ts';
import { useLoad } from '../../lib/load.ts';
import { hrefTo } from '../../lib/place.ts';
import type { GroupDetails, SlotTask } from '../../lib/queue.ts';
import { GROUP_SETTINGS, settingText } from '../../lib/settings.ts';
import type { ShownSetting } from '../../lib/shown-settings.ts';
import { count, visible } from '../../lib/text.ts';
import { useKeys } from '../../lib/use-keys.ts';
import { type Column, DataTable } from '../../parts/data-table.tsx';
import { LoadedView } from '../../parts/loaded.tsx';
import { PauseDialog, PauseState } from '../../parts/pause.tsx';
import { Facts, Screen, Section } from '../../parts/screen.tsx';
import { SettingsView } from '../../parts/settings-view.tsx';
import { Status } from '../../parts/status.tsx';
import { Name, Time } from '../../parts/text.tsx';
import { slotsText } from './groups.tsx';

const HOLDERS: readonly Column<SlotTask>[] = [
  { title: 'Task', cell: ({ id }) => <span class="mono">{id}</span> },
  { title: 'Type', cell: ({ type }) => <Name text={type} /> },
  { title: 'Status', cell: ({ status = 'blocked' }) => <Status name={status} /> },
  { title: 'Since', cell: ({ since, createdAt }) => <Time at={since ?? createdAt} /> },
];

const keyOf = ({ id }: SlotTask) => id;

/** A group of a queue: the tasks that have its slots, the next tasks, and its limits. */
export function GroupScreen({ queue, name }: { readonly queue: string; readonly name: string }) {
  const path = `queues/${segment(queue)}/groups/${segment(name)}`;
  const group = useLoad<GroupDetails>(path);
  const [isAsking, ask] = useState(false);
  const mayPause = useMay('operator') && group.data !== undefined;
  const verb = group.data?.pause == null ? 'pause' : 'resume';
  useKeys(mayPause ? [{ keys: 'p', text: `${verb} the group`, run: () => ask(true) }] : []);
  return (
    <Screen
      title={`Group ${visible(name)}`}
      heading={
        <>
          Group <Name text={name} />
        </>
      }
      actions={
        <>
          <a href={hrefTo('queues', [queue])}>Queue</a>
          <a href={hrefTo('tasks', [], { queue, group: name })}>Tasks</a>
          {mayPause && (
            <button type="button" onClick={() => ask(true)}>
              {verb === 'pause' ? 'Pause…' : 'Resume…'}
            </button>
          )}
        </>
      }
    >
      <LoadedView of={group}>
        {(of) => (
          <>
            <About group={of} />
            <Section title="Limits">
              <SettingsView of={`group ${name}`} settings={limitsOf(of)} path={path} onDone={group.reload} />
            </Section>
            <Slots title="Tasks that have a slot" tasks={of.holders} />
            <Slots title="Next tasks" tasks={of.next} />
          </>
        )}
      </LoadedView>
      {isAsking && (
        <PauseDialog
          verb={verb}
          of={`group ${visible(name)}`}
          path={path}
          onDone={group.reload}
          onClose={() => ask(false)}
        />
      )}
    </Screen>
  );
}

function About({ group }: { readonly group: GroupDetails }) {
  const { pause, stops, applies, waiting, delayed, nextSlotAt } = group;
  const held = stops.some(({ cause }) => cause === 'group_held');
  return (
    <Facts
      of={[
        ['Pause', pause === null ? undefined : <PauseState {...pause} />],
        ['Stopped', held ? <Status name="held by a task" /> : undefined],
        ['Slots in use', slotsText(group)],
        ['Waiting for a slot', count(waiting)],
        ['Waiting for their time', count(delayed)],
        ['Next slot', nextSlotAt === null ? undefined : <Time at={nextSlotAt} />],
        ['Order', `${applies.order.value}, ${applies.order.from}`],
        ['At a dead letter', `${applies.onDead.value}, ${applies.onDead.from}`],
      ]}
    />
  );
}

function limitsOf({ applies, burst }: GroupDetails): readonly ShownSetting[] {
  return GROUP_SETTINGS.map((setting) => {
    const applying = setting.name === 'limit' ? applies.limit : applies.rate;
    const value = setting.name === 'burst' ? burst : applying.value;
    return {
      ...setting,
      value: applying.from === 'group' ? value : null,
      applies: settingText(setting, value) ?? setting.unset!,
      from: applying.from === 'defaults' ? 'built in' : `set for the ${applying.from}`,
    };
  });
}

function Slots({ title, tasks }: { readonly title: string; readonly tasks: readonly SlotTask[] }) {
  if (tasks.length === 0) return null;
  return (
    <Section title={title}>
      <DataTable
        caption={`${title}: the first ${count(tasks.length)}`}
        columns={HOLDERS}
        rows={tasks}
        keyOf={keyOf}
        hrefOf={({ id }) => hrefTo('task', [id])}
      />
    </Section>
  );
}
