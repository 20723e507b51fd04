/** What was started and must be removed, last first: also when the run fails or is interrupted. */
export class Undo {
  #steps: (() => Promise<unknown>)[] = [];

  /** Register a step that undoes something. Returns a function that runs it now, once. */
  add(step: () => Promise<unknown>): () => Promise<void> {
    this.#steps.push(step);
    return async () => {
      if (!this.#steps.includes(step)) return;
      this.#steps = this.#steps.filter((other) => other !== step);
      await step();
    };
  }

  /** Undo everything left. Reports a failure and continues. */
  async all(): Promise<void> {
    for (let step = this.#steps.pop(); step !== undefined; step = this.#steps.pop()) {
      await step().catch((error: unknown) => console.error('bench: could not clean up:', error));
    }
  }
}
