import { extname, relative } from 'node:path';
import { FreshModules } from '../../lib/fresh-modules.ts';
import { MODULE_EXTENSIONS } from '../../lib/load-module.ts';
import { changesBetween, type Snapshot, takeSnapshot } from '../../lib/snapshot.ts';
import { messageOf } from '../../lib/thrown.ts';
import { Wakeup } from '../../lib/wakeup.ts';
import type { Isolation } from './handler.ts';
import { type Handlers, loadHandlers } from './load-handlers.ts';

/** The result of a change: a complete set of handlers, or why it did not load. */
export type Reload = {
  /** Relative to the handlers' directory. */
  readonly changed: readonly string[];
} & ({ readonly handlers: Handlers } | { readonly error: Error });

/** A file that takes longer than this to load counts as not loading. */
const LOAD_MS = 10_000;

/**
 * The handlers of a directory, reloaded when their files change. It compares snapshots of the files instead of waiting
 * for events, which are lost if the directory is deleted and created again, on network and container mounts, and beyond
 * the limit on watches.
 */
export class WatchedHandlers {
  readonly #directory: string;
  readonly #types: readonly string[] | null;
  readonly #isolation: Isolation;
  readonly #modules = new FreshModules();
  /** The snapshot that was last loaded, or tried. */
  #loaded: Snapshot | undefined;
  /** The snapshot of the last check. */
  #seen: Snapshot | undefined;

  constructor(directory: string, types: readonly string[] | null, isolation: Isolation) {
    this.#directory = directory;
    this.#types = types;
    this.#isolation = isolation;
  }

  /** Load the first set. Throws as `loadHandlers` does. */
  async load(): Promise<Handlers> {
    this.#loaded = await this.#look();
    this.#seen = this.#loaded;
    return this.#loadAll();
  }

  /**
   * Check once whether files have changed since the last load, and load a whole set if so. Undefined: nothing has
   * changed, or files are still being written. A set loaded while files were changing is not returned.
   */
  async reload(signal: AbortSignal): Promise<Reload | undefined> {
    const before = this.#seen!;
    const now = await this.#look();
    this.#seen = now;
    if (changesBetween(before, now).length > 0) return undefined;
    const changed = changesBetween(this.#loaded!, now).map((path) => relative(this.#directory, path));
    if (changed.length === 0) {
      this.#loaded = now; // with what has become known of files elsewhere
      return undefined;
    }
    const loaded = await this.#tryToLoad(signal);
    this.#seen = await this.#look();
    if (changesBetween(now, this.#seen).length > 0) return undefined;
    this.#loaded = this.#seen;
    return { changed, ...loaded };
  }

  async #tryToLoad(signal: AbortSignal): Promise<{ handlers: Handlers } | { error: Error }> {
    const wakeup = new Wakeup();
    try {
      const ended = await Promise.race([this.#loadAll(), wakeup.wait(LOAD_MS, signal)]);
      if (typeof ended !== 'string') return { handlers: ended };
      return { error: new Error(`${this.#directory} has not loaded for ${LOAD_MS} ms`) };
    } catch (error) {
      return { error: error instanceof Error ? error : new Error(messageOf(error)) };
    } finally {
      wakeup.trigger();
    }
  }

  #loadAll(): Promise<Handlers> {
    this.#modules.renew();
    return loadHandlers(this.#directory, this.#types, this.#isolation);
  }

  #look(): Promise<Snapshot> {
    return takeSnapshot(this.#directory, this.#modules.files(), isCode);
  }
}

/**
 * Ignore files that a handler may write beside itself: a log file there would keep the directory from ever settling.
 */
function isCode(name: string, mode: number): boolean {
  return CODE.has(extname(name)) || (mode & 0o111) !== 0;
}

const CODE: ReadonlySet<string> = new Set([...MODULE_EXTENSIONS, '.json']);
