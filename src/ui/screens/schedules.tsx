import { useState } from 'preact/hooks';
import { useApp, useMay } from '../lib/app.ts';
import { useList } from '../lib/list.ts';
import { go, hrefTo } from '../lib/place.ts';
import type { Schedule } from '../lib/schedule.ts';
import type { Column } from '../parts/data-table.tsx';
import { ListView } from '../parts/list-view.tsx';
import { Empty } from '../parts/loaded.tsx';
import { Screen } from '../parts/screen.tsx';
import { Status } from '../parts/status.tsx';
import { Name, Time } from '../parts/text.tsx';
import { NextTick } from './schedules/next-tick.tsx';
import { ScheduleForm } from './schedules/schedule-form.tsx';
import { ScheduleView } from './schedules/schedule-view.tsx';

const COLUMNS: readonly Column<Schedule>[] = [
  { title: 'Schedule', cell: ({ name }) => <Name text={name} /> },
  { title: 'Expression', cell: ({ expression }) => <span class="mono">{expression}</span> },
  { title: 'Time zone', isWide: true, cell: ({ tz }) => tz },
  { title: 'Type', isWide: true, cell: ({ type }) => <Name text={type} /> },
  { title: 'Next tick', cell: (schedule) => <NextTick of={schedule} /> },
  { title: 'Last tick', isWide: true, cell: ({ lastTick }) => <Time at={lastTick} /> },
  { title: 'Last task', isWide: true, cell: (schedule) => <LastTask of={schedule} /> },
];

function LastTask({ of: { lastError, lastStatus } }: { readonly of: Schedule }) {
  if (lastError !== null) return <Status name="failed" />;
  return lastStatus === null ? <span class="muted">–</span> : <Status name={lastStatus} />;
}

const keyOf = ({ name }: Schedule) => name;

/** The schedules, or one of them. */
export function SchedulesScreen() {
  const [name] = useApp().place.names;
  return name === undefined ? <ScheduleList /> : <ScheduleView key={name} name={name} />;
}

function ScheduleList() {
  const list = useList<Schedule>({ path: 'schedules', member: 'schedules', keyOf });
  const [isAdding, setAdding] = useState(false);
  const add = useMay('admin') && (
    <button type="button" class="primary" onClick={() => setAdding(true)}>
      Add schedule
    </button>
  );
  return (
    <Screen title="Schedules" actions={add || undefined}>
      <ListView
        list={list}
        caption="Schedules by name"
        columns={COLUMNS}
        keyOf={keyOf}
        hrefOf={({ name }) => hrefTo('schedules', [name])}
        empty={
          <Empty
            text="There is no schedule."
            command="taskq schedule add nightly '30 2 * * *' report --tz Europe/Berlin"
          />
        }
      />
      {isAdding && (
        <ScheduleForm onDone={(name) => go(hrefTo('schedules', [name]))} onClose={() => setAdding(false)} />
      )}
    </Screen>
  );
}
