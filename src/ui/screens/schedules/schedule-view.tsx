import { segment, withQuery } from '../../lib/api.ts';
import { useLoad } from '../../lib/load.ts';
import { hrefTo } from '../../lib/place.ts';
import { optionsOf, type Preview, type Schedule } from '../../lib/schedule.ts';
import { duration, visible } from '../../lib/text.ts';
import { JsonView } from '../../parts/json-view.tsx';
import { LoadedView } from '../../parts/loaded.tsx';
import { Facts, Screen, Section } from '../../parts/screen.tsx';
import { Status } from '../../parts/status.tsx';
import { Name, Time } from '../../parts/text.tsx';
import { NextTick } from './next-tick.tsx';
import { ScheduleActions } from './schedule-actions.tsx';
import { Ticks } from './ticks.tsx';

const TICKS_SHOWN = 10;

/** A schedule: when it fires, what it enqueues, and the result of the last tick. */
export function ScheduleView({ name }: { readonly name: string }) {
  const path = `schedules/${segment(name)}`;
  const schedule = useLoad<Schedule>(path);
  const { data } = schedule;
  // Reload when the expression changes.
  const preview = useLoad<Preview>(
    data === undefined ? null : withQuery(`${path}/preview`, { count: TICKS_SHOWN }),
  );
  const reload = () => {
    schedule.reload();
    preview.reload();
  };
  return (
    <Screen
      title={`Schedule ${visible(name)}`}
      actions={data && <ScheduleActions schedule={data} reload={reload} />}
    >
      <LoadedView of={schedule}>
        {(shown) => (
          <>
            <ScheduleFacts of={shown} />
            <Section title="Next ticks">
              {shown.pausedAt !== null && (
                <p>The schedule is paused: its ticks do not fire until someone resumes it.</p>
              )}
              <LoadedView of={preview}>{(found) => <Ticks of={found} />}</LoadedView>
            </Section>
            <Section title="Payload">
              <JsonView value={shown.payload} what="the payload" />
            </Section>
            <Section title="Options of its tasks">
              <JsonView value={optionsOf(shown)} what="the options" />
            </Section>
          </>
        )}
      </LoadedView>
    </Screen>
  );
}

const OVERLAP: Readonly<Record<string, string>> = {
  allow: 'both run',
  skip: 'the tick is skipped',
  replace: 'the new task replaces it',
};

function ScheduleFacts({ of }: { readonly of: Schedule }) {
  const { lastTaskId, lastStatus, lastError, pausedAt, pausedBy, pauseReason } = of;
  return (
    <Facts
      of={[
        ['Expression', <span class="mono">{of.expression}</span>],
        ['Time zone', of.tz],
        ['Type', <Name text={of.type} />],
        ['Next tick', <NextTick of={of} />],
        ['Last tick', <Time at={of.lastTick} />],
        [
          'Last task',
          lastTaskId === null ? undefined : (
            <>
              <a class="mono" href={hrefTo('task', [lastTaskId])}>
                {lastTaskId}
              </a>{' '}
              {lastStatus !== null && <Status name={lastStatus} />}
            </>
          ),
        ],
        ['Last error', lastError === null ? undefined : <Name text={lastError} />],
        ['If the task of an earlier tick is live', OVERLAP[of.overlap] ?? of.overlap],
        ['Missed ticks that fire late', of.missed],
        ['Jitter', of.jitterMs === 0 ? undefined : `up to ${duration(of.jitterMs)}`],
        ['Paused', pausedAt === null ? undefined : <Time at={pausedAt} />],
        ['Paused by', pausedBy === null ? undefined : <Name text={pausedBy} />],
        ['Paused because', pauseReason === null ? undefined : <Name text={pauseReason} />],
        ['Changed', <Time at={of.changedAt} />],
        ['Changed by', <Name text={of.changedBy} />],
      ]}
    />
  );
}
