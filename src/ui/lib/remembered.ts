const PREFIX = 'taskq.';

/** What this browser remembers; null: nothing, or it may not. */
export function remembered(name: string): string | null {
  try {
    return localStorage.getItem(PREFIX + name);
  } catch {
    return null;
  }
}

/** Lets this browser remember something, if it may; null: forget it. */
export function remember(name: string, value: string | null): void {
  try {
    if (value === null) localStorage.removeItem(PREFIX + name);
    else localStorage.setItem(PREFIX + name, value);
  } catch {
    // It lasts until the page is closed.
  }
}
