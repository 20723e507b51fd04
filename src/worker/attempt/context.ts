import { inspect } from 'node:util';
import { progressOf } from '../../domain/progress.ts';
import { storableError } from '../../domain/storable-error.ts';
import type { Level } from '../../lib/level.ts';
import { read } from '../../lib/thrown.ts';
import type { TaskContext, TaskLog } from '../handlers/handler.ts';
import type { Attempt } from './attempt.ts';
import type { HandlerOutput } from './handler-output.ts';
import { type Transactions, transact } from './transact.ts';

/** The context a handler receives for its task. */
export class Context implements TaskContext {
  readonly #attempt: Attempt;
  readonly #output: HandlerOutput;
  readonly #transactions: Transactions;

  constructor(attempt: Attempt, output: HandlerOutput, transactions: Transactions) {
    this.#attempt = attempt;
    this.#output = output;
    this.#transactions = transactions;
  }

  get id(): string {
    return this.#attempt.task.id;
  }

  get type(): string {
    return this.#attempt.task.type;
  }

  get queue(): string {
    return this.#attempt.task.queue;
  }

  get attempt(): number {
    return this.#attempt.task.attempts + 1;
  }

  get traceparent(): string | null {
    return this.#attempt.task.traceparent;
  }

  get tick(): Date | null {
    const { tick } = this.#attempt.task;
    return tick === null ? null : new Date(tick);
  }

  get signal(): AbortSignal {
    return this.#attempt.signal;
  }

  get log(): TaskLog {
    const about = { task_id: this.id, type: this.type, attempt: this.attempt };
    const at =
      (level: Level): TaskLog['info'] =>
      (message, fields = {}) =>
        this.#output.write(level, messageText(message), { ...about, fields: copyReadable(fields) });
    return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
  }

  // Getters, so that a handler may take them out of its context.

  get progress(): TaskContext['progress'] {
    return (value, text) => this.#output.progress(progressOf(value, text));
  }

  get warn(): TaskContext['warn'] {
    return (error) => this.#output.warn(storableError(error));
  }

  get transaction(): TaskContext['transaction'] {
    return (work) => transact(this.#attempt, this.#transactions, work);
  }
}

/** An untyped handler may pass any value as a message. */
function messageText(message: unknown): string {
  if (typeof message === 'string') return message;
  try {
    return inspect(message);
  } catch {
    return 'an unreadable value';
  }
}

/** Leave out unreadable fields: a log line must not fail the attempt. */
function copyReadable(fields: unknown): Record<string, unknown> {
  try {
    return Object.fromEntries(Object.keys(Object(fields)).map((name) => [name, read(fields, name)]));
  } catch {
    return {};
  }
}
