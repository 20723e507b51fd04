import { useApp, useLive, useNow } from '../lib/app.ts';
import type { Live } from '../lib/live.ts';
import { age } from '../lib/text.ts';

const SAID: Readonly<Record<Live['state'], string>> = {
  connecting: 'connecting',
  live: 'live',
  held: 'held',
  trouble: 'database away',
  disconnected: 'disconnected',
  'signed-out': 'signed out',
};

/** Shows whether the screens are up to date, and how old their figures are; can freeze them. */
export function LiveState() {
  const { live } = useApp();
  const { state, sampledMs, detail } = useLive();
  useNow(1000);
  return (
    <div class={`live-state ${state}`}>
      <span role="status" title={detail ?? undefined}>
        <i aria-hidden="true" />
        {SAID[state]}
      </span>
      {sampledMs !== null && <span class="muted">as of {age(performance.now() - sampledMs)} ago</span>}
      {state === 'signed-out' ? (
        <a href="./">Sign in</a>
      ) : (
        <button type="button" class="quiet small" onClick={live.toggle}>
          {state === 'held' ? 'Resume' : 'Hold'} <kbd>r</kbd>
        </button>
      )}
    </div>
  );
}
