import { useState } from 'preact/hooks';
import { segment } from '../../lib/api.ts';
import { visible } from '../../lib/text.ts';
import { SendDialog } from '../../parts/send-dialog.tsx';

interface TypeDialogProps {
  onDone(): void;
  onClose(): void;
}

/** Makes a type known before any worker registers it. */
export function AddTypeDialog({ name: given = '', ...props }: TypeDialogProps & { readonly name?: string }) {
  const [name, setName] = useState(given);
  return (
    <SendDialog
      title="Make a type known"
      verb="Make known"
      method="PUT"
      path={`types/${segment(name.trim())}`}
      done={`made type ${name.trim()} known`}
      {...props}
    >
      <p>Its tasks can be enqueued before a worker has a handler for it.</p>
      <label class="field">
        <span>Type</span>
        <input
          required
          autocomplete="off"
          spellcheck={false}
          value={name}
          onInput={({ currentTarget }) => setName(currentTarget.value)}
        />
      </label>
    </SendDialog>
  );
}

export type TypeVerb = 'add' | 'resume' | 'forget';

/** Asks before a change of a type. */
export function TypeDialog({
  verb,
  name,
  ...props
}: TypeDialogProps & { readonly verb: TypeVerb; readonly name: string }) {
  const path = `types/${segment(name)}`;
  const shown = visible(name);
  if (verb === 'add') return <AddTypeDialog name={name} {...props} />;
  if (verb === 'resume')
    return (
      <SendDialog
        {...props}
        title={`Resume type ${shown}`}
        verb="Resume"
        path={`${path}/resume`}
        done={`resumed type ${shown}`}
      >
        <p>Its breaker closes: its tasks start at once. Is what its handler calls there again?</p>
      </SendDialog>
    );
  return (
    <SendDialog
      {...props}
      title={`Forget type ${shown}`}
      verb="Forget"
      method="DELETE"
      path={path}
      isDestructive
      done={`forgot type ${shown}`}
    >
      <p>Its settings are deleted, and enqueueing it is refused. Its tasks stay.</p>
    </SendDialog>
  );
}
