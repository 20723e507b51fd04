import type { ApiProblem } from '../../lib/api.ts';
import { segment } from '../../lib/api.ts';
import { settingOf, shortDuration } from '../../lib/settings.ts';
import { counted, visible } from '../../lib/text.ts';
import type { Worker } from '../../lib/worker.ts';
import { Field, textOf } from '../../parts/fields.tsx';
import { SendDialog } from '../../parts/send-dialog.tsx';

export type WorkerVerb = 'pause' | 'resume' | 'stop' | 'set';

interface WorkerDialogProps {
  readonly verb: WorkerVerb;
  readonly worker: Worker;
  onDone(): void;
  onClose(): void;
}

/** Asks before a worker is paused, resumed, stopped or changed. */
export function WorkerDialog({ verb, worker, ...props }: WorkerDialogProps) {
  const path = `workers/${segment(worker.id)}`;
  const name = `worker ${visible(worker.name)}`;
  const running = counted(worker.running, 'running task');
  const shared = { ...props, path: `${path}/${verb}` };
  if (verb === 'pause')
    return (
      <SendDialog {...shared} title={`Pause ${name}`} verb="Pause" done={`paused ${name}`}>
        <p>It claims no more tasks, and gives back those claimed ahead. Its {running} go on.</p>
      </SendDialog>
    );
  if (verb === 'resume')
    return (
      <SendDialog {...shared} title={`Resume ${name}`} verb="Resume" done={`resumed ${name}`}>
        <p>It claims tasks again.</p>
      </SendDialog>
    );
  if (verb === 'stop')
    return (
      <SendDialog {...shared} title={`Stop ${name}`} verb="Stop" isDestructive done={`stopped ${name}`}>
        <p>It finishes its {running}, and its process ends. Only its supervisor can start it again.</p>
      </SendDialog>
    );
  return (
    <SendDialog
      {...shared}
      method="PATCH"
      path={path}
      title={`Change ${name}`}
      verb="Save"
      bodyOf={(form) => changesOf(form, worker)}
      done={`changed ${name}`}
    >
      {(problem) => <Settings worker={worker} problem={problem} />}
    </SendDialog>
  );
}

function Settings({
  worker: { concurrency, leaseMs, pollMs, batch, queues },
  problem,
}: {
  readonly worker: Worker;
  readonly problem: ApiProblem | undefined;
}) {
  return (
    <>
      <p>These last as long as its process.</p>
      <Field label="Slots" name="concurrency" value={String(concurrency)} problem={problem} isRequired />
      <Field label="Lease" name="lease" value={shortDuration(leaseMs)} problem={problem} isRequired />
      <Field
        label="Looks for tasks every"
        name="poll"
        value={pollMs === null ? '' : shortDuration(pollMs)}
        problem={problem}
      />
      <Field label="Batch" name="batch" value={String(batch)} hint="A number, or auto" problem={problem} />
      <Field
        label="Queues"
        name="queues"
        value={queues?.join(', ') ?? ''}
        hint="With commas. Empty: every queue."
        problem={problem}
      />
    </>
  );
}

/** Sends only the changed values. */
function changesOf(form: FormData, worker: Worker): Readonly<Record<string, unknown>> {
  const { concurrency, leaseMs, pollMs, batch, queues } = worker;
  const before = {
    ...{ concurrency: String(concurrency), lease: shortDuration(leaseMs), batch: String(batch) },
    ...{ poll: pollMs === null ? '' : shortDuration(pollMs), queues: queues?.join(', ') ?? '' },
  };
  const changes: Record<string, unknown> = {};
  for (const [name, old] of Object.entries(before)) {
    const text = textOf(form, name) ?? '';
    if (text === old) continue;
    changes[name] = name === 'queues' ? queuesOf(text) : settingOf(text);
  }
  return changes;
}

function queuesOf(text: string): readonly string[] | null {
  return text === '' ? null : text.split(',').map((name) => name.trim());
}
