import { type ChildProcess, fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { InvalidPayloadError } from '../../domain/errors.ts';
import { type Completed, type Outcome, outcomeOf } from '../../domain/outcome.ts';
import { messageOf } from '../../lib/thrown.ts';
import type { ParentsQuery } from '../../queue/inspect/get-parents.ts';
import type { Completion } from '../attempt/attempt.ts';
import type { PayloadCheck } from '../attempt/follow-up-list.ts';
import type { HandlerOutput } from '../attempt/handler-output.ts';
import type { TransactionSettings } from '../attempt/handler-transactions.ts';
import type { ReadParents } from '../attempt/parents.ts';
import type { Transactions } from '../attempt/transact.ts';
import type { AbortReason } from '../handlers/handler.ts';
import type { FromChild, Keyed, PayloadAnswer, RunRequest, ToChild } from './child-messages.ts';

const CHILD = fileURLToPath(new URL('./child.js', import.meta.url));

/** How a run in a process ended; if the process died, `outcome` has how. */
export interface EndOfRun {
  readonly outcome: Outcome;
  /** False: the process died before it had taken the task, whose handler has not begun. */
  readonly isTaken: boolean;
}

/** What a run in a process requires of the worker. */
export interface RunHost {
  readonly output: HandlerOutput;
  readonly parents: ReadParents;
  /** Called before a transaction of the handler commits. */
  readonly transactions: Pick<Transactions, 'beforeCommit'>;
  /** The state of the handler's transaction, as far as is known. */
  readonly onCompletion: (completion: Completion) => void;
}

/** What a process requires of its worker. */
export interface ProcessHost {
  readonly transactions: TransactionSettings;
  /** Compares the payloads that handlers enqueue with the schemas of the worker's handlers. */
  readonly check: PayloadCheck;
}

/** A child process, leader of its own process group, in which handlers run one task at a time. */
export class HandlerProcess {
  readonly #child: ChildProcess;
  readonly #check: PayloadCheck;
  readonly #key = randomUUID();
  #host: RunHost | undefined;
  #end: ((how: EndOfRun) => void) | undefined;
  #runs = 0;
  #isTaken = false;
  #spent = false;

  constructor({ transactions, check }: ProcessHost) {
    this.#check = check;
    this.#child = fork(CHILD, { serialization: 'advanced', detached: true, stdio: ['ignore', 2, 2, 'ipc'] });
    this.#child.on('message', (sent) => {
      if (isKeyed(sent, this.#key)) this.#onMessage(sent.message);
    });
    this.#child.on('error', (thrown) => this.#died(outcomeOf({ kind: 'threw', thrown })));
    this.#child.on('exit', (exitCode, signal) =>
      this.#died(outcomeOf({ kind: 'childDied', exitCode, signal })),
    );
    this.#send({ kind: 'settings', transactions });
  }

  /** How many tasks it has started to run. */
  get runs(): number {
    return this.#runs;
  }

  /** Whether another task may run in it. */
  get isReusable(): boolean {
    return !this.#spent && this.#child.connected;
  }

  /** Run a handler. Anything that happens to the process becomes an outcome; never rejects. */
  run(request: RunRequest, host: RunHost): Promise<EndOfRun> {
    this.#host = host;
    this.#runs += 1;
    this.#isTaken = false;
    this.#child.ref();
    this.#child.channel?.ref();
    return new Promise((resolve) => {
      this.#end = resolve;
      this.#send({ kind: 'run', key: this.#key, ...request });
    });
  }

  /** Ask the handler to end. */
  abort(reason: AbortReason): void {
    this.#send({ kind: 'abort', reason });
  }

  /** Run no other task in it. */
  spend(): void {
    this.#spent = true;
  }

  /** Kill it, with everything its handlers have left running. */
  kill(): void {
    this.#spent = true;
    try {
      if (this.#child.pid !== undefined) process.kill(-this.#child.pid, 'SIGKILL');
    } catch {
      // It is already gone.
    }
  }

  /** Let it wait for its next task, without keeping the worker's process alive. */
  rest(): void {
    this.#child.unref();
    this.#child.channel?.unref();
  }

  #onMessage(message: FromChild): void {
    switch (message.kind) {
      case 'outcome':
        if (this.#end !== undefined) this.#host?.onCompletion(message.completion);
        this.#ended(message.outcome);
        break;
      case 'taken':
        this.#isTaken = true;
        break;
      case 'committing':
        void this.#letCommit(message.outcome);
        break;
      case 'log':
        this.#host?.output.write(message.level, message.message, message.line);
        break;
      case 'progress':
        this.#host?.output.progress(message.progress);
        break;
      case 'warning':
        this.#host?.output.warn(message.error);
        break;
      case 'check':
        void this.#answer(message);
        break;
      case 'parents':
        void this.#answerParents(message.ask, message.query);
        break;
      case 'spoilt':
        this.#spent = true;
        break;
      default:
        message satisfies never;
    }
  }

  /** From here on, only the database knows whether the task was completed, even if the process dies. */
  async #letCommit(outcome: Completed): Promise<void> {
    const [host, end] = [this.#host, this.#end];
    await host?.transactions.beforeCommit?.(outcome);
    if (end === undefined || this.#end !== end) return; // it has ended meanwhile
    host?.onCompletion({ kind: 'sent', outcome });
    this.#send({ kind: 'commit' });
  }

  async #answer({ check, type, payload }: FromChild & { readonly kind: 'check' }): Promise<void> {
    let answer: PayloadAnswer['answer'] = null;
    try {
      const checked = this.#check(type, payload);
      if (checked !== undefined) answer = await checked.then(() => 'fits');
    } catch (error) {
      answer = { problem: error instanceof InvalidPayloadError ? error.problem : messageOf(error) };
    }
    this.#send({ kind: 'checked', check, answer });
  }

  async #answerParents(ask: number, query: ParentsQuery): Promise<void> {
    const answer = await this.#host!.parents(query).catch((error: unknown) => ({
      problem: messageOf(error),
    }));
    this.#send({ kind: 'parents', ask, answer });
  }

  #died(outcome: Outcome): void {
    this.kill();
    this.#ended(outcome);
  }

  #ended(outcome: Outcome): void {
    const end = this.#end;
    this.#end = undefined;
    end?.({ outcome, isTaken: this.#isTaken });
  }

  #send(message: ToChild): void {
    if (this.#child.connected) this.#child.send(message, () => {});
  }
}

/** Whether our own code in the process has sent this, not a handler. */
function isKeyed(sent: unknown, key: string): sent is Keyed {
  return typeof sent === 'object' && sent !== null && 'key' in sent && sent.key === key;
}
