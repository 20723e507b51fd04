import { inspect } from 'node:util';
import type { FollowUps } from '../../domain/follow-ups.ts';
import { progressOf } from '../../domain/progress.ts';
import { storableError, withoutFrames } from '../../domain/storable-error.ts';
import type { WorkflowPlace } from '../../domain/task.ts';
import { TaskqError } from '../../lib/errors.ts';
import type { Level } from '../../lib/level.ts';
import { shown } from '../../lib/shown.ts';
import type { TaskContext, TaskLog } from '../handlers/handler.ts';
import type { Attempt } from './attempt.ts';
import { FollowUpList, type PayloadCheck } from './follow-up-list.ts';
import type { HandlerOutput } from './handler-output.ts';
import { isCaller } from './is-caller.ts';
import { fieldsOf } from './log-fields.ts';
import { eachParent, parentsOf, type ReadParents } from './parents.ts';
import { runFunction } from './run-function.ts';
import { type Transactions, transact } from './transact.ts';

/** Where a context passes on what its handler does. */
export interface ContextHost {
  /** Where everything goes that the handler reports while it runs. */
  readonly output: HandlerOutput;
  /** Reads how the parents of its step have ended. */
  readonly parents: ReadParents;
  /** Where the handler opens its own transactions. */
  readonly transactions: Transactions;
}

/** The context a handler receives for its task. */
export class Context implements TaskContext {
  readonly #attempt: Attempt;
  readonly #output: HandlerOutput;
  readonly #parents: ReadParents;
  readonly #transactions: Transactions;
  readonly #check: PayloadCheck;
  /** Created on first use: most handlers enqueue nothing. */
  #followUps: FollowUpList | undefined;
  #isOver = false;

  /** `check` compares the payloads that the handler enqueues with the schemas of its worker's handlers. */
  constructor(attempt: Attempt, { output, parents, transactions }: ContextHost, check: PayloadCheck) {
    this.#attempt = attempt;
    this.#output = output;
    this.#parents = parents;
    this.#transactions = transactions;
    this.#check = check;
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

  get idempotencyKey(): string {
    return `${this.#transactions.installation}-${this.#attempt.task.id}`;
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

  get workflow(): WorkflowPlace | null {
    return this.#attempt.task.workflow;
  }

  get payloadText(): string {
    return this.#attempt.task.payload;
  }

  get signal(): AbortSignal {
    return this.#attempt.signal;
  }

  get timeLeftMs(): number | null {
    const { timeoutMs, startedAt } = this.#attempt;
    return timeoutMs === null ? null : Math.max(0, timeoutMs - (performance.now() - startedAt));
  }

  get log(): TaskLog {
    const at =
      (level: Level): TaskLog['info'] =>
      (message, fields) =>
        this.#output.write(level, messageText(message), {
          task_id: this.id,
          type: this.type,
          attempt: this.attempt,
          fields: fieldsOf(fields),
        });
    return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
  }

  // Getters, so that a handler may take them out of its context.

  get progress(): TaskContext['progress'] {
    return (value, text) => this.#output.progress(progressOf(value, text));
  }

  get warn(): TaskContext['warn'] {
    return (error) => {
      const stored = withoutFrames(storableError(error), isCaller);
      this.#output.warn(typeof error === 'string' ? { ...stored, name: 'Warning' } : stored);
    };
  }

  get parents(): TaskContext['parents'] {
    return (steps) => parentsOf(this.#readParents, steps);
  }

  get eachParent(): TaskContext['eachParent'] {
    return () => eachParent(this.#readParents);
  }

  get #readParents(): ReadParents {
    return this.workflow === null ? async () => ({ rows: [], after: null }) : this.#parents;
  }

  get transaction(): TaskContext['transaction'] {
    return (work) => transact(this.#attempt, this.#transactions, this, work);
  }

  get runFunction(): TaskContext['runFunction'] {
    return (name, payload, options = {}) =>
      runFunction({ attempt: this.#attempt, transactions: this.#transactions, name, payload, ...options });
  }

  get checkFunction(): TaskContext['checkFunction'] {
    return (name) => this.#transactions.check(name, this.signal);
  }

  get enqueue(): TaskContext['enqueue'] {
    return async (type, payload = {}, options = {}) => {
      if (this.#isOver)
        throw new TaskqError('attempt_over', `${shown(type)} cannot be enqueued: the handler has ended`);
      this.#followUps ??= new FollowUpList(this.#check);
      return this.#followUps.add(type, payload, options);
    };
  }

  /** The handler has ended: take no more tasks from it. Returns those it has enqueued; undefined: none. */
  endFollowUps(): Promise<FollowUps | undefined> | undefined {
    this.#isOver = true;
    return this.#followUps?.end();
  }

  /** The place of the next task that it enqueues. */
  get followUpPlace(): number {
    return this.#followUps?.place ?? 0;
  }

  /** Its transaction was rolled back: it may continue, without the tasks it has enqueued from `place` on. */
  reopenFollowUps(place: number): void {
    this.#isOver = false;
    this.#followUps?.takeBack(place);
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
