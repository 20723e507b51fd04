import { NoSuchTaskError } from '../domain/errors.ts';
import type { HandlerMap, UnknownHandlers } from '../domain/handler-map.ts';
import { storableResult } from '../domain/storable-result.ts';
import type { ClaimedTask, TaskStatus, WorkflowPlace } from '../domain/task.ts';
import { checkedTaskId } from '../domain/task-id.ts';
import { after } from '../lib/after.ts';
import type { Queryable } from '../lib/database.ts';
import { TaskqError } from '../lib/errors.ts';
import type { OpenTransaction, RunSingle } from '../lib/open-transaction.ts';
import { packageVersion } from '../lib/package-root.ts';
import { getParents, type ParentsPage, type ParentsQuery } from '../queue/inspect/get-parents.ts';
import { showTask } from '../queue/inspect/show-task.ts';
import { ageTask } from '../queue/operate/age-task.ts';
import { claimOne } from '../queue/protocol/claim-one.ts';
import { askEnds } from '../queue/protocol/get-ends.ts';
import { refuseMisfit } from '../queue/protocol/new-task.ts';
import { note } from '../queue/protocol/note.ts';
import { type Registered, registerWorker, unregisterWorker } from '../queue/protocol/register-worker.ts';
import { settle } from '../queue/protocol/settle.ts';
import { checkSchema } from '../queue/schema/check-schema.ts';
import { Attempt } from '../worker/attempt/attempt.ts';
import { Context } from '../worker/attempt/context.ts';
import type { PayloadCheck } from '../worker/attempt/follow-up-list.ts';
import { callAlone, checkCallable } from '../worker/attempt/function-calls.ts';
import type { HandlerOutput } from '../worker/attempt/handler-output.ts';
import { LogLines, loggedLine } from '../worker/attempt/log-lines.ts';
import { Notes } from '../worker/attempt/notes.ts';
import { runInline } from '../worker/attempt/run-inline.ts';
import type { Transactions } from '../worker/attempt/transact.ts';
import type { Handler } from '../worker/handlers/load-handler.ts';
import { type Handlers, settingsOf } from '../worker/handlers/load-handlers.ts';
import { loadGiven } from './load-given.ts';
import { type ShownTaskOf, shownOf } from './task-record.ts';

/** Longer than any test. */
const LEASE_MS = 3_600_000;
/**
 * `toEnd` gives up after this many attempts, or after as many as the task's own limit allows. In the transaction of a
 * test each attempt reads the row's earlier versions, so that a thousand would take a minute.
 */
const MOST_ATTEMPTS = 100;

/** The step and the tick of a test's task, instead of those in the database. */
export interface GivenPlace {
  readonly workflow?: WorkflowPlace;
  readonly parents?: Readonly<Record<string, GivenParent>>;
  readonly tick?: Date;
}

/** How a parent has ended, in a test. */
export interface GivenParent {
  /** Default: `completed`. */
  readonly status?: TaskStatus;
  /** What its handler returned: the test's handler reads it as it would be stored. */
  readonly result?: unknown;
}

interface TestHost {
  /** See `Transactions`, whose types are not those of the package. */
  begin(setting: string, value: string): Promise<OpenTransaction>;
  readonly run: RunSingle;
  readonly place: GivenPlace;
}

type Shown = ShownTaskOf<UnknownHandlers>;

/** Runs tasks one attempt at a time, without loops or waiting, as a test's worker. */
export class TestRun {
  readonly #db: Queryable;
  readonly #handlers: Handlers;
  readonly #workerId: number;
  readonly #installation: string;
  readonly #host: TestHost;

  private constructor(db: Queryable, handlers: Handlers, registered: Registered, host: TestHost) {
    this.#db = db;
    this.#handlers = handlers;
    this.#workerId = registered.workerId;
    this.#installation = registered.installation;
    this.#host = host;
  }

  /** Loads the handlers and registers them in the database as a worker does. */
  static async begin(db: Queryable, given: string | HandlerMap, host: TestHost): Promise<TestRun> {
    const handlers = await loadGiven(given, null, 'inline');
    await checkSchema(db);
    const registered = await registerWorker(db, {
      name: 'test',
      uniquePart: 'test',
      version: packageVersion(),
      concurrency: 1,
      leaseMs: LEASE_MS,
      pollMs: 1000,
      types: settingsOf(handlers),
      queues: null,
      paused: true,
    });
    return new TestRun(db, handlers, registered, host);
  }

  /** Unregisters, so that no worker remains that appears to have gone silent. */
  async end(): Promise<void> {
    await unregisterWorker(this.#db, this.#workerId);
  }

  async toEnd(id: string): Promise<Shown> {
    for (let ran = 1; ; ran++) {
      const task = await this.once(id);
      if (task.finishedAt !== null) return task;
      const limit = task.applies.maxAttempts.value;
      if (ran < Math.max(MOST_ATTEMPTS, typeof limit === 'number' ? limit : 0)) continue;
      throw new TaskqError('endless', `task ${id} has not ended after ${ran} attempts`, {
        hint: 'run a task that never ends by itself with runAttempt, one attempt at a time',
      });
    }
  }

  async once(id: string): Promise<Shown> {
    const found = await this.#show(checkedTaskId(id));
    if (found.finishedAt !== null) return found;
    const handler = this.#handlers.get(found.type);
    if (handler === undefined)
      throw new TaskqError('unknown_type', `no handler for ${found.type} was passed`);
    await askEnds(this.#db, [id]); // keeps the end of a task even with retention none
    await ageTask(this.#db, id);
    const task = await claimOne(this.#db, id, { workerId: this.#workerId, leaseMs: LEASE_MS });
    if (task === undefined) {
      throw new TaskqError(
        'not_waiting',
        `task ${id} is ${found.status}: a test can only run a waiting task`,
      );
    }
    await this.#run(task, handler);
    return this.#show(id);
  }

  async #run(claimed: ClaimedTask, handler: Handler): Promise<void> {
    const { place } = this.#host;
    const { workflow = claimed.workflow } = place;
    const task = { ...claimed, workflow, tick: place.tick?.toISOString() ?? claimed.tick };
    const { timeoutMs } = task;
    const attempt = new Attempt(task, timeoutMs);
    const callOff = timeoutMs === null ? () => {} : after(timeoutMs, () => attempt.abort('timeout'));
    const notes = new Notes();
    const transactions: Transactions = {
      workerId: this.#workerId,
      installation: this.#installation,
      begin: this.#host.begin,
      call: (call) => callAlone(this.#host.run, call),
      check: (name, signal) => checkCallable(this.#host.run, name, signal),
      beforeCommit: () => this.#note(task, attempt, notes),
    };
    const check: PayloadCheck = (type, { value }) => {
      const schema = this.#handlers.get(type)?.schema;
      return schema && refuseMisfit(type, schema, value);
    };
    const parents = async (query: ParentsQuery) =>
      givenParents(place, query) ?? getParents(this.#db, task.id, query);
    const ctx = new Context(attempt, { output: outputTo(attempt, notes), parents, transactions }, check);
    const outcome = await runInline(attempt, handler, ctx);
    callOff();
    if (attempt.recorded === undefined) await this.#note(task, attempt, notes);
    const conclusion = attempt.conclude(outcome);
    if (!('reportedBy' in conclusion)) return; // no outcome to report
    const ranMs = performance.now() - attempt.startedAt;
    const settlement = { id: task.id, leaseNo: task.leaseNo, outcome: conclusion, ranMs };
    await settle(this.#db, this.#workerId, [settlement]);
  }

  async #note({ id, leaseNo }: ClaimedTask, attempt: Attempt, notes: Notes): Promise<void> {
    notes.storeLog(attempt.log); // regardless of `keepLog`: a test may check it
    notes.end();
    if (!notes.isEmpty) await note(this.#db, this.#workerId, [{ id, leaseNo, ...notes.take() }]);
  }

  async #show(id: string): Promise<Shown> {
    const shown = await showTask(this.#db, id);
    if (shown === undefined) throw new NoSuchTaskError(id);
    return shownOf(shown);
  }
}

function givenParents({ parents }: GivenPlace, { steps }: ParentsQuery): ParentsPage | undefined {
  if (parents === undefined) return undefined;
  const asked = Object.entries(parents).filter(([step]) => steps?.includes(step) ?? true);
  const rows = asked.map(([step, { status = 'completed', result }]) => {
    const { json, note } = storableResult(result);
    return { step, status, result: json === null ? null : JSON.parse(json), result_note: note };
  });
  return { rows, after: null };
}

/** Notes what a handler reports and logs. */
function outputTo(attempt: Attempt, notes: Notes): HandlerOutput {
  return {
    write: (level, message, { fields }) => {
      const line = loggedLine(level, message, fields);
      if (attempt.log === undefined) attempt.log = new LogLines(line);
      else attempt.log.add(line);
    },
    progress: (progress) => notes.progress(progress),
    warn: (error) => notes.warn(error),
  };
}
