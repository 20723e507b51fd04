import { type Outcome, outcomeOf } from '../../domain/outcome.ts';
import type { Progress } from '../../domain/progress.ts';
import { Latest } from '../../lib/latest.ts';
import { refused } from '../../lib/open-transaction.ts';
import { printed } from '../../lib/printed.ts';
import { messageOf } from '../../lib/thrown.ts';
import { within } from '../../lib/within.ts';
import { Attempt } from '../attempt/attempt.ts';
import { Context, type ContextHost } from '../attempt/context.ts';
import type { HandlerOutput } from '../attempt/handler-output.ts';
import { HandlerTransactions } from '../attempt/handler-transactions.ts';
import { runInline } from '../attempt/run-inline.ts';
import type { Transactions } from '../attempt/transact.ts';
import { catchUncaughtErrors } from '../attempt/uncaught-errors.ts';
import { type Handler, loadHandler } from '../handlers/load-handler.ts';
import { AskedChecks } from './asked-checks.ts';
import { AskedParents } from './asked-parents.ts';
import type { FromChild, Keyed, RunRequest, ToChild } from './child-messages.ts';
import { endWithParent } from './end-with-parent.ts';

/*
 * The entry of a child process in which handlers run: it runs one task after the other and reports each outcome. Its
 * worker ends it, and it ends when its worker is gone.
 */

endWithParent();
// With everything it started: it leads a process group.
process.on('disconnect', () => process.kill(-process.pid, 'SIGKILL'));
// The worker kills the group; a Ctrl-C meant for the worker must not reach the handler.
process.on('SIGINT', () => {});

/** A handler may report its progress in a loop. */
const progress = new Latest<Progress>(100, (value) => send({ kind: 'progress', progress: value }));

/** After the end of an attempt, send only its log lines: the next task may run here by then. */
function outputOf(attempt: Attempt): HandlerOutput {
  return {
    write: (level, message, line) =>
      send({ kind: 'log', level, message, line: { ...line, fields: plain(line.fields) } }),
    progress: (value) => {
      if (current === attempt) progress.put(value);
    },
    warn: (error) => {
      if (current === attempt) send({ kind: 'warning', error });
    },
  };
}

function contextOf(attempt: Attempt, itsTransactions: Transactions): Context {
  const host: ContextHost = {
    output: outputOf(attempt),
    parents: async (query) => {
      if (attempt !== current) throw refused('the parents cannot be read: the attempt has ended');
      return parents.read(query);
    },
    transactions: itsTransactions,
  };
  return new Context(attempt, host, checks.ask);
}

/** Handlers by path. */
const loaded = new Map<string, Promise<Handler>>();
let current: Attempt | undefined;
let key = '';
let transactions: HandlerTransactions;
let mayCommit = () => {};
const parents = new AskedParents((ask, query) => send({ kind: 'parents', ask, query }));
const checks = new AskedChecks((check, type, payload) => send({ kind: 'check', check, type, payload }));

process.on('message', (message: ToChild) => {
  switch (message.kind) {
    case 'settings':
      transactions = new HandlerTransactions(message.transactions);
      break;
    case 'commit':
      mayCommit();
      break;
    case 'abort':
      current?.abort(message.reason);
      break;
    case 'checked':
      checks.answered(message.check, message.answer);
      break;
    case 'parents':
      parents.answered(message.ask, message.answer);
      break;
    case 'run':
      key = message.key;
      take(message);
      break;
    default:
      message satisfies never;
  }
});
catchUncaughtErrors((culprit, thrown) => {
  send({ kind: 'spoilt' });
  if (culprit === undefined || culprit === current) report(outcomeOf({ kind: 'threw', thrown }));
  else
    contextOf(culprit, transactions).log.warn('an operation this task left running has failed', {
      error: messageOf(thrown),
    });
});

/** Report that the task is taken, and only then run its handler, which may end the process at once. */
function take({ path, task, timeoutMs }: RunRequest): void {
  const attempt = new Attempt(task, timeoutMs);
  current = attempt;
  send({ kind: 'taken' }, () => void run(attempt, path));
}

async function run(attempt: Attempt, path: string): Promise<void> {
  if (current !== attempt) return; // an uncaught error has ended it
  const { task } = attempt;
  const outcome = await load(task.type, path).then(
    (handler) => runInline(attempt, handler, contextOf(attempt, watched(attempt))),
    (thrown: unknown) => outcomeOf({ kind: 'threw', thrown }),
  );
  if (current === attempt) report(outcome);
}

/** Transactions of an attempt: before a commit is sent, the worker must know of it. */
function watched(attempt: Attempt): Transactions {
  return {
    workerId: transactions.workerId,
    installation: transactions.installation,
    begin: (setting, value) => transactions.begin(setting, value),
    call: (call) => transactions.call(call),
    check: (name, signal) => transactions.check(name, signal),
    async beforeCommit(outcome) {
      if (attempt !== current) throw refused('the transaction was rolled back: the attempt has ended');
      progress.flush();
      await new Promise<void>((resolve) => {
        mayCommit = resolve;
        send({ kind: 'committing', outcome });
      });
    },
  };
}

/** How long an outcome waits for its handler's output to be read. */
const PRINTING_MS = 10_000;

/** Send the outcome of the running task. Later outcomes of the same task are ignored. */
function report(outcome: Outcome): void {
  if (current === undefined) return;
  progress.flush();
  const { completion } = current;
  current = undefined;
  const sendOutcome = () => send({ kind: 'outcome', outcome, completion });
  // The worker may kill this process as soon as it has the outcome, so let the output drain first.
  if (process.stdout.writableLength + process.stderr.writableLength === 0) sendOutcome();
  else void within(PRINTING_MS, printed()).then(sendOutcome);
}

function load(type: string, path: string): Promise<Handler> {
  const known = loaded.get(path);
  if (known !== undefined) return known;
  const loading = loadHandler(type, path);
  loaded.set(path, loading);
  return loading;
}

/** What of them can be sent: a log line must not fail the attempt, and a field does not take the others with it. */
function plain(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, sendable(value)]));
}

/** Its JSON; of a BigInt its digits, and of a value without JSON (one that contains itself) the reason. */
function sendable(value: unknown): unknown {
  if (typeof value === 'bigint') return String(value);
  try {
    const json = JSON.stringify(value);
    return json === undefined ? undefined : JSON.parse(json);
  } catch (error) {
    return `not shown: ${messageOf(error).split('\n')[0]}`;
  }
}

function send(message: FromChild, onSent = () => {}): void {
  process.send!({ key, message } satisfies Keyed, onSent);
}
