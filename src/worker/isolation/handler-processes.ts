import { type Outcome, outcomeOf } from '../../domain/outcome.ts';
import type { Attempt, Completion } from '../attempt/attempt.ts';
import type { Handler } from '../handlers/load-handler.ts';
import { type EndOfRun, HandlerProcess, type ProcessHost, type RunHost } from './handler-process.ts';
import { KillTimer } from './kill-timer.ts';

/** A handler that was loaded from a file, so that another process can load it too. */
export type LoadedHandler = Handler & { readonly path: string };

export function isLoaded(handler: Handler): handler is LoadedHandler {
  return handler.path !== null;
}

/** What a handler's process requires of the worker. */
export type HandlerHost = Omit<RunHost, 'onCompletion'>;

/** A process without a task for this long is ended. */
const IDLE_MS = 30_000;

/**
 * The child processes in which isolated handlers run. Starting one takes as long as starting Node, so each runs one
 * task after the other, and there are as many as have run at the same time.
 */
export class HandlerProcesses {
  readonly #killAfterMs: number;
  readonly #host: ProcessHost;
  /** Processes without a task, the most recently used last. */
  #idle: { readonly process: HandlerProcess; readonly timer: NodeJS.Timeout }[] = [];
  readonly #busy = new Set<HandlerProcess>();

  constructor(killAfterMs: number, host: ProcessHost) {
    this.#killAfterMs = killAfterMs;
    this.#host = host;
  }

  /**
   * Run a handler in a process. If it does not end when asked to, the process is killed with everything it started,
   * after the handler's `killAfter` or else the worker's. Never rejects.
   *
   * A process that has run other tasks may be dead before it takes this one: then a fresh process takes it. A death
   * after that is a failed attempt, whatever the cause.
   */
  async run(attempt: Attempt, handler: LoadedHandler, host: HandlerHost): Promise<Outcome> {
    try {
      const process = attempt.isolation === 'fresh process' ? this.#startForOne() : this.#take();
      const { outcome, isTaken } = await this.#runIn(process, attempt, handler, host);
      if (isTaken || process.runs === 1 || attempt.aborted !== undefined) return outcome;
      return (await this.#runIn(this.#startForOne(), attempt, handler, host)).outcome;
    } catch (thrown) {
      // For example, there is no memory for another process.
      return outcomeOf({ kind: 'threw', thrown });
    }
  }

  /** Run no more tasks in processes that have loaded the handlers' old code. */
  retire(): void {
    for (const { process, timer } of this.#idle) {
      clearTimeout(timer);
      process.kill();
    }
    this.#idle = [];
    for (const process of this.#busy) process.spend();
  }

  /** End all processes. */
  close(): void {
    this.retire();
    for (const process of this.#busy) process.kill();
  }

  async #runIn(
    process: HandlerProcess,
    attempt: Attempt,
    handler: LoadedHandler,
    host: HandlerHost,
  ): Promise<EndOfRun> {
    const { id, leaseNo, type, queue, payload, attempts, traceparent, tick, workflow } = attempt.task;
    const { path, killAfterMs = this.#killAfterMs } = handler;
    const killTimer = new KillTimer(killAfterMs, () => {
      attempt.killed = true;
      process.kill();
    });
    attempt.onAbort = (reason) => {
      process.abort(reason);
      killTimer.start(reason);
    };
    this.#busy.add(process);
    const task = { id, leaseNo, type, queue, payload, attempts, traceparent, tick, workflow };
    const onCompletion = (completion: Completion) => {
      attempt.completion = completion;
    };
    const running = process.run({ path, task, timeoutMs: attempt.timeoutMs }, { ...host, onCompletion });
    if (attempt.aborted !== undefined) attempt.onAbort(attempt.aborted);
    const end = await running;
    killTimer.clear();
    attempt.onAbort = undefined;
    this.#busy.delete(process);
    this.#putBack(process);
    return end;
  }

  /** Start a process for exactly one task. */
  #startForOne(): HandlerProcess {
    const process = new HandlerProcess(this.#host);
    process.spend();
    return process;
  }

  #take(): HandlerProcess {
    for (let last = this.#idle.pop(); last !== undefined; last = this.#idle.pop()) {
      clearTimeout(last.timer);
      if (last.process.isReusable) return last.process;
      last.process.kill();
    }
    return new HandlerProcess(this.#host);
  }

  #putBack(process: HandlerProcess): void {
    if (!process.isReusable) {
      process.kill();
      return;
    }
    process.rest();
    const timer = setTimeout(() => {
      this.#idle = this.#idle.filter((idle) => idle.process !== process);
      process.kill();
    }, IDLE_MS).unref();
    this.#idle.push({ process, timer });
  }
}
