import type { EventLog, FieldsOf } from './log/events.ts';

/** How and why a worker ends: it is told to, it has done what it was to do, or it cannot go on. */
export class Shutdown {
  /** Claim no more. */
  readonly stop: AbortSignal;
  /** Nothing of this worker runs any more. */
  readonly ended = new AbortController();
  readonly #events: EventLog;
  readonly #own = new AbortController();
  #exitCode: 0 | 1 = 0;

  /** `asked`: aborted when whoever runs the worker wants it to end. */
  constructor(asked: AbortSignal, events: EventLog) {
    this.stop = AbortSignal.any([asked, this.#own.signal]);
    this.#events = events;
  }

  /** 0; 1 when it retired, or left something to its lease. */
  get exitCode(): 0 | 1 {
    return this.#exitCode;
  }

  /** End in order, with exit code 0. */
  finish(): void {
    this.#own.abort();
  }

  /** End in order, with exit code 1: a supervisor starts another. */
  retire(why: string, about: Omit<FieldsOf<'worker.retiring'>, 'error'> = {}): void {
    if (!this.#own.signal.aborted)
      this.#events.event('worker.retiring', { error: { message: why }, ...about });
    this.#exitCode = 1;
    this.#own.abort();
  }

  /** Note that something is left to its lease. */
  fail(): void {
    this.#exitCode = 1;
  }
}
