/** What was started and has to be taken away again, last first: also when the run fails or is interrupted. */
export class Undo {
  #steps: (() => Promise<unknown>)[] = [];

  /** Remember how to undo something. Returns what undoes it now, once. */
  add(step: () => Promise<unknown>): () => Promise<void> {
    this.#steps.push(step);
    return async () => {
      if (!this.#steps.includes(step)) return;
      this.#steps = this.#steps.filter((other) => other !== step);
      await step();
    };
  }

  /** Undo all that is left. What fails is said and does not keep the rest. */
  async all(): Promise<void> {
    for (let step = this.#steps.pop(); step !== undefined; step = this.#steps.pop()) {
      await step().catch((error: unknown) => console.error('bench: could not clean up:', error));
    }
  }
}
