const PREFIX = 'taskq.';

/** A value stored in this browser; null: none, or storage is not allowed. */
export function remembered(name: string): string | null {
  try {
    return localStorage.getItem(PREFIX + name);
  } catch {
    return null;
  }
}

/** Stores a value in this browser, if allowed; null removes it. */
export function remember(name: string, value: string | null): void {
  try {
    if (value === null) localStorage.removeItem(PREFIX + name);
    else localStorage.setItem(PREFIX + name, value);
  } catch {
    // It lasts until the page is closed.
  }
}
