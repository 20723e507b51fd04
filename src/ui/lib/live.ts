import { get } from './api.ts';
import { type Completions, recorded } from './figures.ts';
import { parseJson } from './json.ts';
import type { Stats } from './stats.ts';
import { Store } from './store.ts';

export interface Live {
  /** `held`: the user has frozen the screens; `trouble`: the server gets no answer from the database. */
  readonly state: 'connecting' | 'live' | 'held' | 'trouble' | 'disconnected' | 'signed-out';
  /** The figures shown; null: none have arrived yet. */
  readonly stats: Stats | null;
  /** How many samples were taken since the page was opened: screens reload with each. */
  readonly round: number;
  /** When it was sampled, on the clock of this page (`performance.now()`); null: never. */
  readonly sampledMs: number | null;
  readonly detail: string | null;
  /** The completions in the samples of the last minutes. */
  readonly history: readonly Completions[];
}

/** The one connection of a tab on which figures arrive. It is closed while the tab is hidden. */
export interface LiveFeed {
  readonly store: Store<Live>;
  /** Freezes the figures, or resumes. */
  toggle(): void;
}

const RETRY_MS = 5000;
const NOTHING: Live = {
  ...{ state: 'connecting', stats: null, round: 0, sampledMs: null, detail: null, history: [] },
};

/** Opens the connection. */
export function openLive(): LiveFeed {
  const store = new Store<Live>(NOTHING);
  const change = (changes: Partial<Live>) => store.set({ ...store.value, ...changes });
  let source: EventSource | undefined;
  let retry: ReturnType<typeof setTimeout> | undefined;
  const openedMs = performance.now();
  let isHeld = false;

  const close = () => {
    source?.close();
    source = undefined;
    clearTimeout(retry);
  };
  const open = () => {
    close();
    if (document.hidden || isHeld) return;
    source = new EventSource('api/v1/live');
    source.addEventListener('stats', ({ data }) => {
      const stats = parseJson(data) as Stats;
      const sampledMs = stats.ageMs === null ? null : performance.now() - stats.ageMs;
      const last = store.value;
      // Screens may have loaded before the first sample was taken.
      const isNext =
        last.stats === null
          ? sampledMs !== null && sampledMs > openedMs
          : last.stats.sampledAt !== stats.sampledAt;
      const round = last.round + (isNext ? 1 : 0);
      const history = recorded(last.history, stats);
      change({ state: 'live', stats, round, sampledMs, detail: null, history });
    });
    source.addEventListener('open', () => {
      if (store.value.stats !== null) change({ state: 'live', detail: null });
    });
    source.addEventListener('trouble', ({ data }) => {
      change({ state: 'trouble', detail: (parseJson(data) as { readonly detail?: string }).detail ?? null });
    });
    source.addEventListener('error', () => {
      change({ state: 'disconnected', detail: null });
      // The browser tries again by itself unless the server has refused.
      if (source?.readyState !== EventSource.CLOSED) return;
      retry = setTimeout(open, RETRY_MS);
      get('caller').catch(({ status }) => status === 401 && change({ state: 'signed-out' }));
    });
  };
  document.addEventListener('visibilitychange', () => (document.hidden ? close() : open()));
  open();
  return {
    store,
    toggle() {
      isHeld = !isHeld;
      if (isHeld) {
        close();
        change({ state: 'held' });
      } else {
        change({ state: 'connecting' });
        open();
      }
    },
  };
}
