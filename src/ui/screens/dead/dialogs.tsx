import type { ApiProblem } from '../../lib/api.ts';
import { segment } from '../../lib/api.ts';
import { JsonText, stringifyJson } from '../../lib/json.ts';
import type { OperationFilter } from '../../lib/operations.ts';
import type { Task } from '../../lib/task.ts';
import { visible } from '../../lib/text.ts';
import { Field, textOf } from '../../parts/fields.tsx';
import { OperationDialog } from '../../parts/operation-dialog.tsx';
import { SendDialog } from '../../parts/send-dialog.tsx';

export type GroupVerb = 'revive' | 'discard';

interface GroupDialogProps {
  readonly verb: GroupVerb;
  readonly filter: OperationFilter;
  /** A note on the letters that the operation leaves out. */
  readonly remark?: string;
  onDone(): void;
  onClose(): void;
}

/** Describes the letters that an operation on a group leaves out; `queue`: it covers only letters of this queue. */
export function leftOut(queue: string | null): string {
  const others = queue === null ? '' : `Letters of other queues than ${visible(queue)} are left out. `;
  return `${others}Letters added by hand are left out: revive or discard them by their ids.`;
}

/** Revives dead letters in stages, or discards them. */
export function GroupDialog({ verb, ...props }: GroupDialogProps) {
  if (verb === 'discard') return <OperationDialog {...props} {...{ verb }} label="Discard" isDestructive />;
  return <OperationDialog {...props} {...{ verb }} label="Revive" fields={stages} optionsOf={stagesOf} />;
}

function stages(problem: ApiProblem | undefined) {
  return (
    <>
      <Field
        label="Canary"
        name="canary"
        placeholder="10"
        hint="Revive this many first, the others once these have ended well. Empty: all at once."
        problem={problem}
      />
      <Field
        label="Rate"
        name="rate"
        placeholder="50/1m"
        hint="Revive at most at this rate. Empty: no limit."
        problem={problem}
      />
      <Field
        label="Stop at"
        name="stopAt"
        placeholder="20%"
        hint="Stop when more than this share of those revived has died again."
        problem={problem}
      />
      <Field
        label="Change of each payload"
        name="patch"
        lines={3}
        placeholder={'{"currency": "EUR", "discount": null}'}
        hint="A JSON merge patch: members are replaced, null removes one."
        problem={problem}
      />
    </>
  );
}

function stagesOf(form: FormData): Readonly<Record<string, unknown>> {
  const canary = textOf(form, 'canary');
  const patch = textOf(form, 'patch');
  return {
    canary: canary === undefined ? undefined : new JsonText(canary),
    rate: textOf(form, 'rate'),
    stopAt: textOf(form, 'stopAt'),
    patch: patch === undefined ? undefined : new JsonText(patch),
  };
}

interface ChangedReviveProps {
  readonly letter: Task;
  onDone(): void;
  onClose(): void;
}

/** Revives a letter with another payload. */
export function ChangedRevive({ letter: { id, payload }, ...props }: ChangedReviveProps) {
  return (
    <SendDialog
      title={`Revive task ${id}`}
      verb="Revive"
      path={`tasks/${segment(id)}/revive`}
      bodyOf={(form) => ({ payload: new JsonText(textOf(form, 'payload') ?? 'null') })}
      done={`revived task ${id} with another payload`}
      {...props}
    >
      {(problem) => (
        <Field
          label="Payload, as JSON"
          name="payload"
          lines={10}
          value={stringifyJson(payload, '  ')}
          hint="The task keeps its id and its history, and has all attempts again."
          problem={problem}
        />
      )}
    </SendDialog>
  );
}
