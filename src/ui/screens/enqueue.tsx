import { useState } from 'preact/hooks';
import { note } from '../lib/activity.ts';
import { type ApiProblem, segment, send } from '../lib/api.ts';
import { useApp, useParams } from '../lib/app.ts';
import { JsonText, stringifyJson } from '../lib/json.ts';
import { problemOf, useLoad } from '../lib/load.ts';
import { go, hrefTo } from '../lib/place.ts';
import type { Task } from '../lib/task.ts';
import { Field, textOf } from '../parts/fields.tsx';
import { LoadedView } from '../parts/loaded.tsx';
import { ProblemView } from '../parts/problem.tsx';
import { Screen } from '../parts/screen.tsx';
import { timeOf } from './task/edit-dialog.tsx';

/** A form for a new task, perhaps filled with the values of another. */
export function EnqueueScreen() {
  const [params] = useParams();
  const copy = params.get('copy');
  const of = useLoad<Task>(copy === null ? null : `tasks/${segment(copy)}`);
  return (
    <Screen title={copy === null ? 'Enqueue a task' : `Enqueue a copy of task ${copy}`}>
      {copy === null ? (
        <EnqueueForm of={undefined} />
      ) : (
        <LoadedView of={of}>{(task) => <EnqueueForm of={task} />}</LoadedView>
      )}
    </Screen>
  );
}

interface Enqueued {
  readonly id: string;
  readonly created: boolean;
}

function EnqueueForm({ of }: { readonly of: Task | undefined }) {
  const { activity } = useApp();
  const [problem, setProblem] = useState<ApiProblem>();
  const [isBusy, setBusy] = useState(false);
  const enqueue = async (form: FormData) => {
    setBusy(true);
    try {
      const path = form.has('unknown') ? 'tasks?allowUnknown=true' : 'tasks';
      const { id, created } = await send<Enqueued>('POST', path, bodyOf(form));
      const text = created ? `Enqueued task ${id}` : `Task ${id} holds the key: nothing was enqueued`;
      note(activity, { text });
      go(hrefTo('task', [id]));
    } catch (error) {
      setProblem(problemOf(error));
    }
    setBusy(false);
  };
  return (
    <form
      class="card form"
      onSubmit={(event) => {
        event.preventDefault();
        if (!isBusy) void enqueue(new FormData(event.currentTarget));
      }}
    >
      <Field label="Type" name="type" value={of?.type ?? ''} isRequired problem={problem} />
      <Field
        label="Payload"
        name="payload"
        value={stringifyJson(of?.payload ?? {}, '  ')}
        lines={10}
        problem={problem}
      />
      <div class="fields">
        <Field
          label="Queue"
          name="queue"
          value={of?.queue ?? ''}
          placeholder="of its type"
          problem={problem}
        />
        <Field
          label="Priority, 0 to 9"
          name="priority"
          value={of === undefined ? '' : String(of.priority)}
          problem={problem}
        />
        <Field label="Start" name="time" pointer="delay" placeholder="now, or 30m" problem={problem} />
        <Field label="Group" name="group" value={of?.group ?? ''} problem={problem} />
        <Field
          label="Key"
          name="key"
          hint={of?.key ? 'The key of the other is not copied.' : undefined}
          problem={problem}
        />
        <Field
          label="Tags"
          name="tags"
          value={of?.tags ? stringifyJson(of.tags) : ''}
          placeholder={'{"order":"42"}'}
          problem={problem}
        />
      </div>
      <label class="check">
        <input type="checkbox" name="unknown" /> Also if no worker has registered the type
      </label>
      {problem !== undefined && <ProblemView problem={problem} />}
      <div class="buttons">
        <button type="submit" class="primary" aria-disabled={isBusy}>
          Enqueue
        </button>
      </div>
    </form>
  );
}

function bodyOf(form: FormData): object {
  const [payload, tags] = [textOf(form, 'payload'), textOf(form, 'tags')];
  return {
    ...{ type: textOf(form, 'type'), queue: textOf(form, 'queue'), priority: textOf(form, 'priority') },
    ...{ group: textOf(form, 'group'), key: textOf(form, 'key'), ...timeOf(textOf(form, 'time')) },
    payload: payload === undefined ? undefined : new JsonText(payload),
    tags: tags === undefined ? undefined : new JsonText(tags),
  };
}
