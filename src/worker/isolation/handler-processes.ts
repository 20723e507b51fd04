import { type Outcome, outcomeOf } from '../../domain/outcome.ts';
import { after } from '../../lib/after.ts';
import type { Attempt } from '../attempt/attempt.ts';
import type { Handler } from '../handlers/load-handler.ts';
import type { EventLog } from '../log/events.ts';
import { type EndOfRun, HandlerProcess } from './handler-process.ts';

/** A handler that was loaded from a file: another process can load it too. */
export type LoadedHandler = Handler & { readonly path: string };

export function isLoaded(handler: Handler): handler is LoadedHandler {
  return handler.path !== null;
}

/** A process that has had no task for so long is ended. */
const IDLE_MS = 30_000;

/**
 * The processes in which handlers run that are not to share the worker's. Starting one takes as long as starting
 * Node; so each runs one task after the other, and there are as many as have run at a time.
 */
export class HandlerProcesses {
  readonly #killAfterMs: number;
  readonly #events: EventLog;
  /** Those without a task, the one that has just run last. */
  #idle: { readonly process: HandlerProcess; readonly timer: NodeJS.Timeout }[] = [];
  readonly #busy = new Set<HandlerProcess>();

  constructor({ killAfterMs, events }: { readonly killAfterMs: number; readonly events: EventLog }) {
    this.#killAfterMs = killAfterMs;
    this.#events = events;
  }

  /**
   * Run a handler in a process, which is killed with all that it has started where it does not end when it is asked to:
   * after the time that the handler says, else the worker. Never rejects.
   *
   * A process that dies may have died of what an earlier task has left in it. So where one dies that has run others,
   * the task is run again in a fresh one before anything is held against it.
   */
  async run(attempt: Attempt, handler: LoadedHandler): Promise<Outcome> {
    try {
      const process = attempt.place === 'fresh process' ? this.#startForOne() : this.#take();
      const { outcome, died } = await this.#runIn(process, attempt, handler);
      if (!died || process.runs === 1 || attempt.aborted !== undefined) return outcome;
      return (await this.#runIn(this.#startForOne(), attempt, handler)).outcome;
    } catch (thrown) {
      // There is no memory for another process, say.
      return outcomeOf({ kind: 'threw', thrown });
    }
  }

  /** Let no process that has loaded the handlers' old code run another task. */
  retire(): void {
    for (const { process, timer } of this.#idle) {
      clearTimeout(timer);
      process.kill();
    }
    this.#idle = [];
    for (const process of this.#busy) process.spend();
  }

  /** End all of them. */
  close(): void {
    this.retire();
    for (const process of this.#busy) process.kill();
  }

  async #runIn(process: HandlerProcess, attempt: Attempt, handler: LoadedHandler): Promise<EndOfRun> {
    const { id, type, queue, payload, attempts, traceparent } = attempt.task;
    const { path, killAfterMs = this.#killAfterMs } = handler;
    let callOff = () => {};
    attempt.onAbort = (reason) => {
      process.abort(reason);
      // Somebody else has the task already, or is about to: there is nothing to be gracious about.
      const patienceMs = reason === 'lost' || reason === 'shutdown' ? 0 : killAfterMs;
      callOff();
      callOff = after(patienceMs, () => {
        attempt.killed = true;
        process.kill();
      });
    };
    this.#busy.add(process);
    const task = { id, type, queue, payload, attempts, traceparent };
    const running = process.run({ path, task });
    if (attempt.aborted !== undefined) attempt.onAbort(attempt.aborted);
    const end = await running;
    callOff();
    attempt.onAbort = undefined;
    this.#busy.delete(process);
    this.#putBack(process);
    return end;
  }

  /** For one task and no other. */
  #startForOne(): HandlerProcess {
    const process = new HandlerProcess(this.#events);
    process.spend();
    return process;
  }

  #take(): HandlerProcess {
    for (let last = this.#idle.pop(); last !== undefined; last = this.#idle.pop()) {
      clearTimeout(last.timer);
      if (last.process.isReusable) return last.process;
      last.process.kill();
    }
    return new HandlerProcess(this.#events);
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
