import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FromSupervised, ToSupervised } from './supervised-messages.ts';

export interface WorkerProcessOptions {
  /** Starts a worker in its own process group, with an IPC channel and a pipe for its stdout. */
  readonly start: () => ChildProcess;
  /** Called with every complete line that the worker prints. */
  readonly onLine: (line: string) => void;
  /** Ask the worker to drain. */
  readonly stop: AbortSignal;
  /** Ask the worker to stop waiting. */
  readonly hurry: AbortSignal;
  /** The worker claims tasks. */
  readonly onStarted: () => void;
}

export interface WorkerProcessEnd {
  readonly pid: number | undefined;
  /** Null: a signal ended it, or it could not be started. */
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
  /** It ended on request or after its last task, and left nothing behind. */
  readonly inOrder: boolean;
  /** It got as far as claiming tasks. */
  readonly started: boolean;
  readonly livedMs: number;
}

/** A hurried worker that has not ended by then is killed: its main thread does not answer. */
const HURRIED_MS = 5000;
/** Processes that a handler left running may keep the pipe open; do not wait for them longer than this. */
const LAST_LINES_MS = 500;

/** Run one worker process to its end, passing on `stop` and `hurry`. Never rejects. */
export async function runWorkerProcess(options: WorkerProcessOptions): Promise<WorkerProcessEnd> {
  const { stop, hurry, onLine, onStarted } = options;
  const startedAt = performance.now();
  let child: ChildProcess;
  try {
    child = options.start();
  } catch {
    // For example, there is not enough memory now for another process.
    return { pid: undefined, exitCode: null, signal: null, inOrder: false, started: false, livedMs: 0 };
  }
  const received = new Set<FromSupervised['kind']>();
  child.on('message', (message: FromSupervised | null) => {
    // A handler may send anything over this channel, null too.
    if (message?.kind === 'started') onStarted();
    if (message?.kind !== undefined) received.add(message.kind);
  });
  // It has no output if the system had no file descriptors left.
  if (child.stdout) createInterface({ input: child.stdout }).on('line', onLine);

  let killer: NodeJS.Timeout | undefined;
  const onStop = () => send(child, { kind: 'stop' });
  const onHurry = () => {
    send(child, { kind: 'hurry' });
    killer = setTimeout(killGroup, HURRIED_MS, child);
  };
  stop.addEventListener('abort', onStop);
  hurry.addEventListener('abort', onHurry);
  await endOf(child);
  stop.removeEventListener('abort', onStop);
  hurry.removeEventListener('abort', onHurry);
  clearTimeout(killer);

  const { pid, exitCode, signalCode: signal } = child;
  // A handler may end its process with 0 too.
  const inOrder = (exitCode === 0 && received.has('stopped')) || (hurry.aborted && (exitCode ?? 0) > 128);
  const livedMs = performance.now() - startedAt;
  return { pid, exitCode, signal, inOrder, started: received.has('started'), livedMs };
}

/** Resolves when the process is gone and its last lines are read. */
async function endOf(child: ChildProcess): Promise<void> {
  const closed = once(child, 'close').catch(() => {});
  try {
    await once(child, 'exit');
  } catch {
    return; // It could not be created, for example because there are too many processes.
  }
  await Promise.race([closed, sleep(LAST_LINES_MS)]);
}

function send(child: ChildProcess, message: ToSupervised): void {
  if (child.connected) child.send(message, () => {});
}

function killGroup(child: ChildProcess): void {
  try {
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
  } catch {
    // It is already gone.
  }
}
