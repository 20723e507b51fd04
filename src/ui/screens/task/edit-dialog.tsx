import { note } from '../../lib/activity.ts';
import { useApp } from '../../lib/app.ts';
import { JsonText, stringifyJson } from '../../lib/json.ts';
import { hrefTo } from '../../lib/place.ts';
import type { TaskDetails } from '../../lib/task.ts';
import { Confirm, sendWithReason } from '../../parts/confirm.tsx';
import { Field, textOf } from '../../parts/fields.tsx';

interface EditDialogProps {
  readonly task: TaskDetails;
  onDone(): void;
  onClose(): void;
}

/** Changes a waiting task: sends only the fields changed in the form. */
export function EditDialog({ task, onDone, onClose }: EditDialogProps) {
  const { activity } = useApp();
  const payload = stringifyJson(task.payload, '  ');
  const run = async (form: FormData) => {
    const given = (name: string, was: string) => {
      const text = textOf(form, name);
      return text === undefined || text === was ? undefined : text;
    };
    const changed = given('payload', payload);
    await sendWithReason(form, 'PATCH', `tasks/${task.id}`, {
      payload: changed === undefined ? undefined : new JsonText(changed),
      queue: given('queue', task.queue),
      priority: given('priority', String(task.priority)),
      ...timeOf(textOf(form, 'time')),
    });
    note(activity, { text: `Edited task ${task.id}`, href: hrefTo('audit') });
    onDone();
  };
  return (
    <Confirm title={`Edit task ${task.id}`} verb="Save" run={run} onClose={onClose}>
      {(problem) => (
        <>
          <Field label="Payload" name="payload" value={payload} lines={10} problem={problem} />
          <Field label="Queue" name="queue" value={task.queue} problem={problem} />
          <Field label="Priority, 0 to 9" name="priority" value={String(task.priority)} problem={problem} />
          <Field
            label="Start"
            name="time"
            pointer={problem?.at('at') === undefined ? 'delay' : 'at'}
            problem={problem}
            placeholder="as it is"
            hint={
              <>
                A delay such as <code>30m</code>, or a time such as <code>2026-01-31T08:00Z</code>
              </>
            }
          />
        </>
      )}
    </Confirm>
  );
}

/** A delay or a time, as typed. */
export function timeOf(text: string | undefined): { readonly delay?: string; readonly at?: string } {
  if (text === undefined) return {};
  return /^\d{4}-/.test(text) ? { at: text } : { delay: text };
}
