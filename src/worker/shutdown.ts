import { setMaxListeners } from 'node:events';
import { EXIT } from '../lib/errors.ts';
import type { EventLog, FieldsOf } from './log/events.ts';
import type { WorkerEnd } from './worker-options.ts';

/** Decides when and how a worker ends: on request, after its work, or because it cannot continue. */
export class Shutdown {
  /** Aborted when the worker must claim no more. */
  readonly stop: AbortSignal;
  /** Aborted when the worker has ended completely. */
  readonly ended = new AbortController();
  readonly #events: EventLog;
  readonly #own = new AbortController();
  #exitCode: WorkerEnd['exitCode'] = EXIT.done;

  /** `asked`: aborted when the caller wants the worker to end. */
  constructor(asked: AbortSignal, events: EventLog) {
    this.stop = AbortSignal.any([asked, this.#own.signal]);
    // Each loop of a worker listens to them, and Node warns of a leak above ten listeners.
    setMaxListeners(0, this.stop, this.ended.signal);
    this.#events = events;
  }

  get exitCode(): WorkerEnd['exitCode'] {
    return this.#exitCode;
  }

  /** Claim no more and drain. The exit code stays as it is. */
  finish(): void {
    this.#own.abort();
  }

  /** Drain and end with exit code 1: a supervisor starts another worker. */
  retire(why: string, about: Partial<FieldsOf<'worker.retiring'>> = {}): void {
    if (!this.#own.signal.aborted)
      this.#events.event('worker.retiring', { ...about, error: { ...about.error, message: why } });
    this.fail();
    this.#own.abort();
  }

  /** Drain and end with exit code 3: the schema no longer serves this release, so a restart does not help. */
  outdated(why: string): void {
    this.#events.event('worker.outdated', { error: { message: why } });
    this.#exitCode = EXIT.schema;
    this.#own.abort();
  }

  /** Record that a task is left to its lease; the exit code becomes 1, unless a restart does not help. */
  fail(): void {
    if (this.#exitCode === EXIT.done) this.#exitCode = EXIT.failed;
  }
}
