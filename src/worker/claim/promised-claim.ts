/**
 * What a worker owes the workflows whose steps it ends. With such an outcome it may promise to claim at once: then the
 * database wakes no other worker for the workflow. A worker that then has no room for tasks still attends to the
 * workflow, and so wakes others for the steps that start.
 */
export class PromisedClaim {
  #isOwed = false;
  /** Whether the claim loop would claim at once. */
  #isReady = false;
  /** Attends without claiming, once the loop has ended. */
  #pay: (() => Promise<void>) | undefined;

  get mayPromise(): boolean {
    return this.#isReady;
  }

  /** A claim that begins from now on is owed. */
  get isOwed(): boolean {
    return this.#isOwed;
  }

  /** The claim loop has looked whether there is room. */
  ready(isReady: boolean): void {
    this.#isReady = isReady;
  }

  /** An outcome that promised a claim is recorded, or may be. */
  owe(): void {
    this.#isOwed = true;
    void this.#pay?.();
  }

  /** A claim begins, which fulfils the promise. */
  paid(): void {
    this.#isOwed = false;
  }

  /** The claim failed: the next one must fulfil the promise. */
  unpaid(): void {
    this.#isOwed = true;
  }

  /** The loop has ended: from now on, whatever is owed is paid by `pay`, which never throws. */
  async end(pay: () => Promise<void>): Promise<void> {
    this.#isReady = false;
    this.#pay = pay;
    if (this.#isOwed) await pay();
  }
}
