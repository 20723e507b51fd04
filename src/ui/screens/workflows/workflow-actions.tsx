import { useState } from 'preact/hooks';
import { useAct } from '../../lib/act.ts';
import { note } from '../../lib/activity.ts';
import { segment, send } from '../../lib/api.ts';
import { useApp, useMay } from '../../lib/app.ts';
import { hrefTo } from '../../lib/place.ts';
import { LIVE_STATUSES } from '../../lib/task.ts';
import { counted } from '../../lib/text.ts';
import { isLive, type WorkflowDetails } from '../../lib/workflow.ts';
import { Confirm, sendWithReason } from '../../parts/confirm.tsx';

interface WorkflowActionsProps {
  readonly workflow: WorkflowDetails;
  reload(): void;
}

/** The actions of an operator on a workflow. */
export function WorkflowActions({ workflow, reload }: WorkflowActionsProps) {
  const act = useAct();
  const [asked, setAsked] = useState<'close' | 'cancel'>();
  const { id, isOpen, steps } = workflow;
  if (!useMay('operator')) return null;
  const retry = async () => {
    await act(`retried workflow ${id}`, () => send('POST', `workflows/${segment(id)}/retry`));
    reload();
  };
  const dialog = { workflow, onDone: reload, onClose: () => setAsked(undefined) };
  return (
    <>
      {steps.some(({ status }) => status === 'dead') && (
        <button type="button" onClick={retry}>
          Retry dead steps
        </button>
      )}
      {isOpen && (
        <button type="button" onClick={() => setAsked('close')}>
          Close
        </button>
      )}
      {isLive(workflow) && (
        <button type="button" class="danger" onClick={() => setAsked('cancel')}>
          Cancel
        </button>
      )}
      {asked === 'close' && <CloseDialog {...dialog} />}
      {asked === 'cancel' && <CancelDialog {...dialog} />}
    </>
  );
}

interface DialogProps {
  readonly workflow: WorkflowDetails;
  onDone(): void;
  onClose(): void;
}

function CloseDialog({ workflow: { id }, onDone, onClose }: DialogProps) {
  const { activity } = useApp();
  const run = async (form: FormData) => {
    await sendWithReason(form, 'POST', `workflows/${segment(id)}/close`);
    note(activity, { text: `closed workflow ${id}`, href: hrefTo('audit') });
    onDone();
  };
  return (
    <Confirm {...{ title: 'Close the workflow', verb: 'Close workflow', run, onClose }}>
      <p>It takes no more steps, and ends with those that it has. This cannot be undone.</p>
    </Confirm>
  );
}

function CancelDialog({ workflow: { id, steps }, onDone, onClose }: DialogProps) {
  const { activity } = useApp();
  const live = steps.filter(({ status }) => LIVE_STATUSES.some((live) => live === status));
  const run = async (form: FormData) => {
    const { answer } = await sendWithReason<{ readonly answer: string }>(
      form,
      'POST',
      `workflows/${segment(id)}/cancel`,
    );
    const text = answer === 'requested' ? `asked workflow ${id} to end` : `cancelled workflow ${id}`;
    note(activity, { text, href: hrefTo('audit') });
    onDone();
  };
  return (
    <Confirm
      {...{ title: 'Cancel the workflow', verb: 'Cancel workflow', isDestructive: true, run, onClose }}
      count={live.length}
    >
      <p>
        Its <strong>{counted(live.length, 'live step')}</strong> will be cancelled; workers are asked to end
        those that run.
      </p>
    </Confirm>
  );
}
