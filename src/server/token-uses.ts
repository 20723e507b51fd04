import type { Queryable } from '../lib/database.ts';
import { noteTokenUses } from '../queue/operate/tokens.ts';
import { notGranted } from '../queue/schema/not-granted.ts';

export interface TokenUsesOptions {
  readonly db: Queryable;
  readonly report: (error: unknown) => void;
}

/** At most one statement in this time, however many requests come. */
const EVERY_MS = 5000;

/** Records when tokens were last used, if the role of the server may. Its timer does not keep the process alive. */
export class TokenUses {
  readonly #options: TokenUsesOptions;
  #used = new Set<string>();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: TokenUsesOptions) {
    this.#options = options;
  }

  /** A request came with the token of this hash. */
  add(hash: string): void {
    this.#used.add(hash);
    this.#timer ??= setTimeout(() => void this.flush(), EVERY_MS).unref();
  }

  /** Records the pending uses. */
  async flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const hashes = [...this.#used];
    this.#used = new Set();
    if (hashes.length === 0) return;
    await noteTokenUses(this.#options.db, hashes).catch((error: unknown) => {
      if (notGranted(error) === undefined) this.#options.report(error);
    });
  }
}
