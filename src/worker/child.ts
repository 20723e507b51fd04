import { type Outcome, outcomeOf } from '../domain/outcome.ts';
import { messageOf } from '../domain/thrown.ts';
import { Attempt } from './attempt.ts';
import type { FromChild, Order, ToChild } from './child-messages.ts';
import { endWithParent } from './end-with-parent.ts';
import type { TaskContext, TaskLog } from './handler.ts';
import { type Handler, loadHandler } from './load-handler.ts';
import { runInline } from './run-inline.ts';
import { catchStrays } from './strays.ts';

/*
 * The entry of a process in which handlers run: it runs one task after the other, reports each outcome, and is ended
 * by its worker. When the worker is gone, so is it.
 */

endWithParent();
// With what it has started: it leads a process group.
process.on('disconnect', () => process.kill(-process.pid, 'SIGKILL'));
// The group is killed by the worker; a Ctrl-C meant for the worker is no business of the handler.
process.on('SIGINT', () => {});

/** By path. */
const loaded = new Map<string, Promise<Handler>>();
let current: Attempt | undefined;

process.on('message', (message: ToChild) => {
  if (message.kind === 'abort') current?.abort(message.reason);
  else void run(message);
});
catchStrays((culprit, thrown) => {
  send({ kind: 'spoilt' });
  if (culprit === undefined || culprit === current) report(outcomeOf({ kind: 'threw', thrown }));
  else logOf(culprit).warn('what this task left behind has failed', { error: messageOf(thrown) });
});

async function run({ path, payload, context }: Order): Promise<void> {
  const { id, type, queue, traceparent } = context;
  const task = {
    id,
    leaseNo: 0,
    type,
    queue,
    payload,
    priority: 0,
    attempts: context.attempt - 1,
    losses: 0,
    availableAtUs: 0,
    timeoutMs: null,
    groupKey: null,
    traceparent,
    running: true,
  };
  const attempt = new Attempt({ task, slot: 0, claimedAt: 0 }, { timeoutMs: null, isApart: true });
  current = attempt;
  const ctx: TaskContext = {
    ...context,
    log: logOf(attempt),
    get signal() {
      return attempt.signal;
    },
  };
  const outcome = await load(type, path).then(
    (handler) => runInline(attempt, handler, ctx),
    (thrown: unknown) => outcomeOf({ kind: 'threw', thrown }),
  );
  if (current === attempt) report(outcome);
}

/** Tell what the task came to that runs now. What else is heard of it is too late. */
function report(outcome: Outcome): void {
  if (current === undefined) return;
  current = undefined;
  send({ kind: 'outcome', outcome });
}

function load(type: string, path: string): Promise<Handler> {
  const known = loaded.get(path);
  if (known !== undefined) return known;
  const loading = loadHandler(type, path);
  loaded.set(path, loading);
  return loading;
}

function logOf({ held: { task } }: Attempt): TaskLog {
  const about = { task_id: task.id, type: task.type, attempt: task.attempts + 1 };
  const say =
    (level: keyof TaskLog): TaskLog['info'] =>
    (message, fields = {}) =>
      send({ kind: 'log', level, message: String(message), fields: { ...plain(fields), ...about } });
  return { debug: say('debug'), info: say('info'), warn: say('warn'), error: say('error') };
}

/** Only what can be sent; a log line is no reason to fail. */
function plain(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  try {
    return JSON.parse(JSON.stringify(fields)) as Record<string, unknown>;
  } catch (error) {
    return { fields_lost: String(error) };
  }
}

function send(message: FromChild): void {
  process.send!(message);
}
