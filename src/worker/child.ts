import { type Outcome, outcomeOf } from '../domain/outcome.ts';
import { Attempt } from './attempt.ts';
import type { FromChild, ToChild } from './child-messages.ts';
import type { TaskContext, TaskLog } from './handler.ts';
import { loadHandler } from './load-handler.ts';
import { runInline } from './run-inline.ts';

/*
 * The entry of a handler's own process: it runs one task, reports its outcome and is ended by its worker. When the
 * worker is gone, so is it.
 */

process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'));
// The group is killed by the worker; a Ctrl-C meant for the worker is no business of the handler.
process.on('SIGINT', () => {});

let attempt: Attempt | undefined;
process.on('message', (message: ToChild) => {
  if (message.kind === 'abort') attempt?.abort(message.reason);
  else void run(message).then((outcome) => send({ kind: 'outcome', outcome }));
});
for (const stray of ['uncaughtException', 'unhandledRejection'] as const) {
  process.on(stray, (thrown: unknown) =>
    send({ kind: 'outcome', outcome: outcomeOf({ kind: 'threw', thrown }) }),
  );
}

async function run(order: ToChild & { kind: 'run' }): Promise<Outcome> {
  const { type, path, payload, context } = order;
  const task = {
    id: context.id,
    leaseNo: 0,
    type,
    queue: context.queue,
    payload,
    priority: 0,
    attempts: context.attempt - 1,
    losses: 0,
    availableAtUs: 0,
    timeoutMs: null,
    groupKey: null,
    running: true,
  };
  attempt = new Attempt({ task, slot: 0, claimedAt: 0 }, null, performance.now());
  const { signal } = attempt;
  const ctx: TaskContext = { ...context, type, signal, log: logThroughParent() };
  try {
    return await runInline(attempt, await loadHandler(type, path), ctx);
  } catch (thrown) {
    return outcomeOf({ kind: 'threw', thrown });
  }
}

function logThroughParent(): TaskLog {
  const say =
    (level: keyof TaskLog): TaskLog['info'] =>
    (message, fields = {}) =>
      send({ kind: 'log', level, message: String(message), fields: plain(fields) });
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
