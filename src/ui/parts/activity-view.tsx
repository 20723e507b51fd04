import { useEffect, useState } from 'preact/hooks';
import type { Activity } from '../lib/activity.ts';
import { useApp, useSeesAll } from '../lib/app.ts';
import { hrefTo } from '../lib/place.ts';
import { useStore } from '../lib/store.ts';
import { visible } from '../lib/text.ts';
import { useKeys } from '../lib/use-keys.ts';
import { Dialog } from './dialog.tsx';
import { Empty } from './loaded.tsx';
import { Time } from './text.tsx';

const SHOWN_MS = 8000;

/** Shows the last action; disappears by itself unless the action failed. */
export function Toast() {
  const [latest] = useStore(useApp().activity);
  const [seen, setSeen] = useState(0);
  const id = latest?.id ?? 0;
  const isFailure = latest?.isFailure ?? false;
  useEffect(() => {
    if (id === 0 || isFailure) return;
    const timer = setTimeout(() => setSeen(id), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [id, isFailure]);
  return (
    <div class="toast" role="status">
      {latest !== undefined && latest.id > seen && (
        <>
          <Line of={latest} />
          <button type="button" class="quiet small" onClick={() => setSeen(latest.id)}>
            Dismiss
          </button>
        </>
      )}
    </div>
  );
}

/** A button that lists the actions done in this tab. */
export function ActivityButton() {
  const done = useStore(useApp().activity);
  const [isOpen, setOpen] = useState(false);
  useKeys([{ keys: 'g l', text: 'what you did', run: () => setOpen(true) }]);
  return (
    <>
      <button type="button" class="quiet" onClick={() => setOpen(true)}>
        Done{done.length > 0 && ` (${done.length})`}
      </button>
      {isOpen && (
        <Dialog title="What you did" onClose={() => setOpen(false)}>
          {done.length === 0 ? (
            <Empty text="Nothing yet. What is done here, and what others do, is in the audit." />
          ) : (
            <ul class="log">
              {done.map((one) => (
                <li key={one.id}>
                  <Time at={one.at.toISOString()} /> <Line of={one} />
                </li>
              ))}
            </ul>
          )}
          <div class="buttons">
            <button type="button" onClick={() => setOpen(false)}>
              Close
            </button>
          </div>
        </Dialog>
      )}
    </>
  );
}

function Line({ of: { text, href, isFailure } }: { readonly of: Activity }) {
  const isAudit = href === hrefTo('audit');
  // The audit is about all queues.
  const isLink = useSeesAll() || !isAudit;
  return (
    <span class={isFailure ? 'fault' : ''}>
      {isFailure && 'Failed: '}
      {visible(text)} {href !== undefined && isLink && <a href={href}>{isAudit ? 'Audit' : 'Open'}</a>}
    </span>
  );
}
