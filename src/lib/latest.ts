/** Passes on the latest of the values it is given, at most once every `everyMs`: the first at once. */
export class Latest<Value> {
  readonly #everyMs: number;
  readonly #pass: (value: Value) => void;
  #kept: { readonly value: Value } | undefined;
  #passedAt = -Infinity;
  #timer: NodeJS.Timeout | undefined;

  constructor(everyMs: number, pass: (value: Value) => void) {
    this.#everyMs = everyMs;
    this.#pass = pass;
  }

  put(value: Value): void {
    this.#kept = { value };
    const waitMs = this.#passedAt + this.#everyMs - performance.now();
    if (waitMs <= 0) this.flush();
    else this.#timer ??= setTimeout(() => this.flush(), waitMs).unref();
  }

  /** Passes on the value held back, at once. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const kept = this.#kept;
    if (kept === undefined) return;
    this.#kept = undefined;
    this.#passedAt = performance.now();
    this.#pass(kept.value);
  }
}
