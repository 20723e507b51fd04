import type { EventLog, FieldsOf } from './log/events.ts';

/** Decides when and how a worker ends: it was asked to, it has finished its work, or it cannot go on. */
export class Shutdown {
  /** Aborted when the worker must claim no more. */
  readonly stop: AbortSignal;
  /** Aborted when nothing of this worker runs. */
  readonly ended = new AbortController();
  readonly #events: EventLog;
  readonly #own = new AbortController();
  #exitCode: 0 | 1 = 0;

  /** `asked`: aborted when the caller wants the worker to end. */
  constructor(asked: AbortSignal, events: EventLog) {
    this.stop = AbortSignal.any([asked, this.#own.signal]);
    this.#events = events;
  }

  /** 0; 1 if the worker retired or left tasks to their leases. */
  get exitCode(): 0 | 1 {
    return this.#exitCode;
  }

  /** End normally, with exit code 0. */
  finish(): void {
    this.#own.abort();
  }

  /** Drain and end with exit code 1: a supervisor starts another worker. */
  retire(why: string, about: Omit<FieldsOf<'worker.retiring'>, 'error'> = {}): void {
    if (!this.#own.signal.aborted)
      this.#events.event('worker.retiring', { error: { message: why }, ...about });
    this.#exitCode = 1;
    this.#own.abort();
  }

  /** Record that a task is left to its lease; the exit code becomes 1. */
  fail(): void {
    this.#exitCode = 1;
  }
}
