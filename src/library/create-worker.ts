import { messageOf } from '../lib/thrown.ts';
import type { Isolation } from '../worker/handlers/handler.ts';
import type { EventLog } from '../worker/log/events.ts';
import type { WorkerEnd } from '../worker/worker-options.ts';
import { listenerLog } from './event-listener.ts';
import {
  type CreateWorkerOptions,
  isolationOf,
  logLevelOf,
  settingsOf,
  typesOf,
  type WorkerSettings,
} from './worker-options.ts';

/** How a worker ended. */
export interface TaskWorkerEnd {
  /** `retired`: it could not continue, or left tasks to their leases; start another worker. */
  readonly how: 'drained' | 'retired';
  /** Number of completed tasks. */
  readonly completed: number;
  /** Number of attempts that failed, including those that made a task a dead letter. */
  readonly failed: number;
  /** Number of tasks that `untilIdle` left, by reason. */
  readonly left: Readonly<Record<string, number>>;
}

/** A worker inside an application. It handles no signals and never ends the process. */
export interface TaskWorker {
  /**
   * Starts claiming tasks. Throws if the handlers do not load, the database cannot be reached or its schema does not
   * fit.
   */
  start(): Promise<void>;
  /**
   * Stops claiming, waits up to `grace` for running tasks and gives the others back. Resolves when all outcomes are
   * recorded.
   */
  stop(): Promise<void>;
  /**
   * Resolves when the worker has ended: by `stop`, `untilIdle` or `maxTasks`, or because it retired. Rejects if it
   * could not start or failed; a failure after the start is also emitted as a process warning.
   */
  readonly ended: Promise<TaskWorkerEnd>;
}

/** Creates a worker in this process. Nothing happens before `start`. Throws TaskqError for an invalid option. */
export function createWorker(options: CreateWorkerOptions): TaskWorker {
  return new ApplicationWorker(options);
}

class ApplicationWorker implements TaskWorker {
  readonly ended: Promise<TaskWorkerEnd>;
  readonly #handlers: CreateWorkerOptions['handlers'];
  readonly #types: readonly string[] | null;
  readonly #isolation: Isolation;
  readonly #settings: WorkerSettings;
  readonly #events: EventLog;
  readonly #stop = new AbortController();
  #started: Promise<void> | undefined;
  #end!: (end: TaskWorkerEnd | PromiseLike<TaskWorkerEnd>) => void;
  #fail!: (error: unknown) => void;

  constructor(options: CreateWorkerOptions) {
    this.#settings = settingsOf(options);
    this.#handlers = options.handlers;
    this.#types = typesOf(options);
    this.#isolation = isolationOf(options);
    this.#events = listenerLog(options.onEvent ?? (() => {}), logLevelOf(options));
    this.ended = new Promise((resolve, reject) => {
      [this.#end, this.#fail] = [resolve, reject];
    });
    this.ended.catch(() => {}); // `start` rejects with the same error, or a warning reports it
  }

  start(): Promise<void> {
    this.#started ??= this.#begin().catch((error: unknown) => {
      this.#fail(error);
      throw error;
    });
    return this.#started;
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    const isRunning = await this.#started?.then(
      () => true,
      () => false,
    );
    if (isRunning) await this.ended;
    else this.#end({ how: 'drained', completed: 0, failed: 0, left: {} });
  }

  async #begin(): Promise<void> {
    // Imported lazily: an application that only enqueues needs none of it.
    const { runWorker } = await import('../worker/run-worker.ts');
    const { troubleOf } = await import('../queue/protocol/refusal.ts');
    const { loadForWorker } = await import('./load-given.ts');
    const handlers = await loadForWorker(this.#handlers, this.#types, this.#isolation);
    let running!: Promise<WorkerEnd>;
    await new Promise<void>((started, failed) => {
      running = runWorker({
        ...this.#settings,
        tasks: { ...this.#settings.tasks, handlers },
        end: { ...this.#settings.end, stop: this.#stop.signal, hurry: NEVER },
        process: { ...this.#settings.process, events: this.#events, onStarted: started },
      }).catch((error: unknown) => {
        throw troubleOf(error, '', this.#settings.connection.databaseUrl);
      });
      running.catch(failed);
      this.#end(running.then(endOf));
    });
    running.catch((error: unknown) =>
      process.emitWarning(`a taskq worker failed: ${messageOf(error)}`, 'TaskqWarning'),
    );
  }
}

const NEVER = new AbortController().signal;

function endOf({ exitCode, completed, failed, left }: WorkerEnd): TaskWorkerEnd {
  return { how: exitCode === 0 ? 'drained' : 'retired', completed, failed, left };
}
