import { useState } from 'preact/hooks';
import { useAct } from '../../lib/act.ts';
import { note } from '../../lib/activity.ts';
import { send } from '../../lib/api.ts';
import { useApp, useMay } from '../../lib/app.ts';
import { go, hrefTo } from '../../lib/place.ts';
import type { TaskDetails } from '../../lib/task.ts';
import { type TaskVerb, verbsFor } from '../../lib/verbs.ts';
import { Confirm, sendWithReason } from '../../parts/confirm.tsx';
import { EditDialog } from './edit-dialog.tsx';

interface TaskActionsProps {
  readonly task: TaskDetails;
  onDone(): void;
}

const WAITING = ['pending', 'blocked'];

/** The actions on a task that its status and the caller's role allow. */
export function TaskActions({ task, onDone }: TaskActionsProps) {
  const mayAct = useMay('operator');
  const mayEnqueue = useMay('producer');
  const act = useAct();
  const [open, setOpen] = useState<TaskVerb | 'edit'>();
  const run = async (verb: TaskVerb) => {
    if (verb.isDestructive) setOpen(verb);
    else if (await act(`${verb.done} task ${task.id}`, () => perform(task, verb))) onDone();
  };
  return (
    <>
      {mayEnqueue && (
        <a class="button" href={hrefTo('enqueue', [], { copy: task.id })}>
          Enqueue a copy
        </a>
      )}
      {mayAct && WAITING.includes(task.status) && (
        <button type="button" onClick={() => setOpen('edit')}>
          Edit
        </button>
      )}
      {mayAct &&
        verbsFor([task.status]).map((verb) => (
          <button
            key={verb.verb}
            type="button"
            class={verb.isDestructive ? 'danger' : ''}
            onClick={() => void run(verb)}
          >
            {verb.label}
          </button>
        ))}
      {open === 'edit' && <EditDialog task={task} onDone={onDone} onClose={() => setOpen(undefined)} />}
      {typeof open === 'object' && (
        <VerbDialog task={task} verb={open} onDone={onDone} onClose={() => setOpen(undefined)} />
      )}
    </>
  );
}

/** Does it; shows the new task of a rerun. */
async function perform(
  task: TaskDetails,
  { verb }: TaskVerb,
  post = (path: string) => send<Performed>('POST', path),
): Promise<void> {
  const { newId } = await post(`tasks/${task.id}/${verb}`);
  if (newId !== undefined) go(hrefTo('task', [newId]));
}

interface Performed {
  readonly newId?: string;
}

interface VerbDialogProps extends TaskActionsProps {
  readonly verb: TaskVerb;
  onClose(): void;
}

/** Asks before a destructive verb. */
function VerbDialog({ task, verb, onDone, onClose }: VerbDialogProps) {
  const { activity } = useApp();
  const run = async (form: FormData) => {
    await perform(task, verb, (path) => sendWithReason(form, 'POST', path));
    note(activity, { text: `${verb.done} task ${task.id}`, href: hrefTo('audit') });
    if (verb.verb === 'cancel') onDone();
    else go(hrefTo('tasks'));
  };
  return (
    <Confirm
      title={`${verb.label} task ${task.id}`}
      verb={verb.label}
      isDestructive
      run={run}
      onClose={onClose}
    >
      <p>{verb.effect}</p>
    </Confirm>
  );
}
