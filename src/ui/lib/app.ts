import { createContext } from 'preact';
import { useContext, useEffect, useState } from 'preact/hooks';
import type { Activity } from './activity.ts';
import type { Keys } from './keys.ts';
import type { Live, LiveFeed } from './live.ts';
import { changed, go, hrefOf, type Params, type Place } from './place.ts';
import { type Store, useStore } from './store.ts';

export const ROLES = ['viewer', 'producer', 'operator', 'admin'] as const;

export type Role = (typeof ROLES)[number];

/** The answer of `GET caller`. */
export interface Caller {
  readonly role: Role;
  readonly name: string | null;
  /** Null: all. */
  readonly queues: readonly string[] | null;
  /** The server takes writes. */
  readonly write: boolean;
  readonly version: string;
  readonly release: number;
}

/** The state that all screens share. */
export interface App {
  readonly caller: Caller;
  readonly place: Place;
  readonly live: LiveFeed;
  readonly keys: Keys;
  readonly activity: Store<readonly Activity[]>;
}

export const AppContext = createContext<App | null>(null);

export function useApp(): App {
  return useContext(AppContext)!;
}

/** Whether the caller may do what needs this role: if not, the screen has no button for it. */
export function useMay(role: Role): boolean {
  const { caller } = useApp();
  return caller.write && ROLES.indexOf(caller.role) >= ROLES.indexOf(role);
}

/** Whether the caller sees all queues: routes about more than a queue refuse others. */
export function useSeesAll(): boolean {
  return useApp().caller.queues === null;
}

/** The parameters of the URL, and a function that changes some of them. */
export function useParams(): readonly [URLSearchParams, (changes: Params) => void] {
  const { place } = useApp();
  return [place.params, (changes) => go(hrefOf({ ...place, params: changed(place.params, changes) }))];
}

export function useLive(): Live {
  return useStore(useApp().live.store);
}

/** The current time, updated at intervals while the tab is visible. */
export function useNow(everyMs: number): number {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => document.hidden || setNow(Date.now()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return now;
}
