import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { type Outcome, outcomeOf } from '../domain/outcome.ts';
import type { Attempt } from './attempt.ts';
import type { FromChild, ToChild } from './child-messages.ts';
import type { TaskContext } from './handler.ts';
import type { Handler } from './load-handler.ts';

const CHILD = fileURLToPath(new URL('./child.js', import.meta.url));

/** A handler that was loaded from a file: another process can load it too. */
export type LoadedHandler = Handler & { readonly path: string };

/**
 * Run a handler in a process of its own. The request to end goes on to it; `graceMs` after that its process group is
 * killed. Whatever happens to the process is an outcome; never rejects.
 */
export function runInProcess(
  attempt: Attempt,
  handler: LoadedHandler,
  ctx: TaskContext,
  graceMs: number,
): Promise<Outcome> {
  const child = fork(CHILD, { serialization: 'advanced', detached: true, stdio: ['ignore', 2, 2, 'ipc'] });
  let killer: NodeJS.Timeout | undefined;
  attempt.onAbort = (reason) => {
    send(child, { kind: 'abort', reason });
    // Somebody else has the task already, or is about to: there is nothing to be gracious about.
    const patienceMs = reason === 'lost' || reason === 'shutdown' ? 0 : graceMs;
    killer = setTimeout(killGroup, patienceMs, child);
  };
  send(child, {
    kind: 'run',
    type: handler.type,
    path: handler.path,
    payload: attempt.held.task.payload,
    context: { id: ctx.id, queue: ctx.queue, attempt: ctx.attempt },
  });
  if (attempt.aborted !== undefined) attempt.onAbort(attempt.aborted);
  return outcomeFrom(child, ctx).finally(() => {
    clearTimeout(killer);
    attempt.onAbort = undefined;
  });
}

function outcomeFrom(child: ChildProcess, ctx: TaskContext): Promise<Outcome> {
  return new Promise((resolve) => {
    let reported: Outcome | undefined;
    child.on('message', (message: FromChild) => {
      if (message.kind === 'outcome') {
        reported = message.outcome;
        killGroup(child); // with whatever it has left running
      } else {
        ctx.log[message.level](message.message, message.fields);
      }
    });
    child.on('error', (error) => resolve(reported ?? outcomeOf({ kind: 'threw', thrown: error })));
    child.on('exit', (exitCode, signal) => {
      killGroup(child);
      resolve(reported ?? outcomeOf({ kind: 'childDied', exitCode, signal }));
    });
  });
}

function send(child: ChildProcess, message: ToChild): void {
  if (child.connected) child.send(message, () => {});
}

function killGroup(child: ChildProcess): void {
  try {
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
  } catch {
    // It is gone.
  }
}
