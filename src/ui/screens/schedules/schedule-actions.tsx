import { useState } from 'preact/hooks';
import { useAct } from '../../lib/act.ts';
import { note } from '../../lib/activity.ts';
import { segment, send } from '../../lib/api.ts';
import { useApp, useMay } from '../../lib/app.ts';
import { go, hrefTo } from '../../lib/place.ts';
import type { Schedule } from '../../lib/schedule.ts';
import { visible } from '../../lib/text.ts';
import { Confirm, sendWithReason } from '../../parts/confirm.tsx';
import { ScheduleForm } from './schedule-form.tsx';

interface ScheduleActionsProps {
  readonly schedule: Schedule;
  reload(): void;
}

/** The actions of an operator, or an admin, on a schedule. */
export function ScheduleActions({ schedule, reload }: ScheduleActionsProps) {
  const { activity } = useApp();
  const act = useAct();
  const [asked, setAsked] = useState<'run' | 'pause' | 'edit' | 'remove'>();
  const isAdmin = useMay('admin');
  if (!useMay('operator')) return null;
  const name = visible(schedule.name);
  const path = `schedules/${segment(schedule.name)}`;
  const onClose = () => setAsked(undefined);
  const does = async (text: string, form: FormData, verb: string) => {
    await sendWithReason(form, 'POST', path + verb);
    note(activity, { text: `${text} ${name}`, href: hrefTo('audit') });
    reload();
  };
  const resume = async () => {
    await act(`resumed schedule ${name}`, () => send('POST', `${path}/resume`));
    reload();
  };
  return (
    <>
      <button type="button" onClick={() => setAsked('run')}>
        Run now
      </button>
      {schedule.pausedAt === null ? (
        <button type="button" onClick={() => setAsked('pause')}>
          Pause
        </button>
      ) : (
        <button type="button" onClick={resume}>
          Resume
        </button>
      )}
      {isAdmin && (
        <>
          <button type="button" onClick={() => setAsked('edit')}>
            Edit
          </button>
          <button type="button" class="danger" onClick={() => setAsked('remove')}>
            Remove
          </button>
        </>
      )}
      {asked === 'run' && (
        <Confirm
          {...{ title: 'Run the schedule now', verb: 'Run now', onClose }}
          run={(form) => does('ran schedule', form, '/run')}
        >
          <p>Its task is enqueued now, beside its ticks.</p>
        </Confirm>
      )}
      {asked === 'pause' && (
        <Confirm
          {...{ title: 'Pause the schedule', verb: 'Pause schedule', onClose }}
          run={(form) => does('paused schedule', form, '/pause')}
        >
          <p>Ticks during the pause never fire, not even later.</p>
        </Confirm>
      )}
      {asked === 'remove' && (
        <Confirm
          {...{ title: 'Remove the schedule', verb: 'Remove schedule', isDestructive: true, onClose }}
          run={async (form) => {
            await sendWithReason(form, 'DELETE', path);
            note(activity, { text: `removed schedule ${name}`, href: hrefTo('audit') });
            go(hrefTo('schedules'));
          }}
        >
          <p>
            Schedule <strong>{name}</strong> fires no more. Tasks that it has enqueued stay.
          </p>
        </Confirm>
      )}
      {asked === 'edit' && <ScheduleForm of={schedule} onDone={reload} onClose={onClose} />}
    </>
  );
}
