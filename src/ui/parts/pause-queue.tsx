import { useState } from 'preact/hooks';
import { useAct } from '../lib/act.ts';
import { segment, send } from '../lib/api.ts';
import { OTHER_QUEUES } from '../lib/figures.ts';
import { visible } from '../lib/text.ts';
import { PauseDialog } from './pause.tsx';
import { Status } from './status.tsx';

/** The pause of a queue, as `GET queues` returns it. */
export interface QueuePause {
  readonly name: string;
  readonly pausedAt: string | null;
  readonly pausedUntil: string | null;
  readonly pausedBy: string | null;
  readonly pauseReason: string | null;
}

interface PauseButtonProps {
  readonly queue: string;
  /** Undefined: the queue is not known. */
  readonly pause: QueuePause | undefined;
  readonly mayPause: boolean;
  onDone(): void;
}

/** Whether a queue is paused, and the button that changes it. */
export function PauseButton({ queue, pause, mayPause, onDone }: PauseButtonProps) {
  const act = useAct();
  const [isOpen, setOpen] = useState(false);
  const isPaused = pause != null && pause.pausedAt !== null;
  const shown = visible(queue);
  const resume = async () => {
    if (await act(`Resumed queue ${shown}`, () => send('POST', `queues/${segment(queue)}/resume`))) onDone();
  };
  if (queue === OTHER_QUEUES) return null;
  return (
    <span class="pause">
      {isPaused && (
        <span title={whyPaused(pause)}>
          <Status name="paused" />
        </span>
      )}
      {mayPause && (
        <button
          type="button"
          class="small"
          aria-label={`${isPaused ? 'Resume' : 'Pause'} ${shown}`}
          onClick={() => (isPaused ? void resume() : setOpen(true))}
        >
          {isPaused ? 'Resume' : 'Pause'}
        </button>
      )}
      {isOpen && (
        <PauseDialog
          verb="pause"
          of={`queue ${shown}`}
          path={`queues/${segment(queue)}`}
          mayEnd
          onDone={onDone}
          onClose={() => setOpen(false)}
        />
      )}
    </span>
  );
}

function whyPaused({ pausedAt, pausedUntil, pausedBy, pauseReason }: QueuePause): string {
  return [
    `since ${pausedAt}`,
    pausedUntil !== null && `until ${pausedUntil}`,
    pausedBy !== null && `by ${visible(pausedBy)}`,
    pauseReason !== null && visible(pauseReason),
  ]
    .filter(Boolean)
    .join(', ');
}
