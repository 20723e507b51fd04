import type { Store } from './store.ts';

/** An action done in this tab, for the list. */
export interface Activity {
  readonly id: number;
  readonly at: Date;
  readonly text: string;
  readonly isFailure?: boolean;
  /** Where to read more. */
  readonly href?: string;
}

const MOST = 50;

/** Adds an action, newest first. */
export function note(store: Store<readonly Activity[]>, what: Omit<Activity, 'id' | 'at'>): void {
  const id = (store.value[0]?.id ?? 0) + 1;
  store.set([{ ...what, id, at: new Date() }, ...store.value].slice(0, MOST));
}
