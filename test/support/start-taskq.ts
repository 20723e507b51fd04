import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { type SpawnedTaskq, spawnTaskq, type TaskqOptions } from './spawn-taskq.ts';

/** A line of the daemon's log. */
export type LogLine = Readonly<Record<string, unknown>>;

export interface TaskqEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** A running daemon. */
export interface RunningTaskq {
  readonly pid: number;
  /** Every JSON line of stdout and stderr so far. */
  logs(): readonly LogLine[];
  stdout(): string;
  stderr(): string;
  /**
   * Returns the first log line, past or future, that fits. Throws after `limitMs` (two minutes), or when the daemon has ended.
   */
  waitForLog(fits: (line: LogLine) => boolean, limitMs?: number): Promise<LogLine>;
  /** Closes the pipe of its stdout. */
  closeStdout(): void;
  /** Sends a signal to it alone; default SIGTERM. */
  kill(signal?: NodeJS.Signals): void;
  /** How it ended. */
  readonly exit: Promise<TaskqEnd>;
}

const running = new Set<SpawnedTaskq>();
/** Since the last `killStartedTaskqs`. */
const started: SpawnedTaskq[] = [];

/** What each daemon printed last, for the message of a test that waits in vain. */
export function lastWords(): string {
  return started
    .map(({ child, stdout, stderr }) => {
      const state = child.exitCode ?? child.signalCode ?? 'running';
      return `taskq ${child.pid} (${state}):\n${[stdout(), stderr()].map((text) => text.slice(-2000)).join('')}`;
    })
    .join('\n');
}

/** Starts the built binary and leaves it running. The test file must call `afterEach(killStartedTaskqs)`. */
export function startTaskq(args: readonly string[], options: TaskqOptions = {}): RunningTaskq {
  const taskq = spawnTaskq(args, options);
  const { child } = taskq;
  child.stdin.end();
  running.add(taskq);
  started.push(taskq);
  void taskq.closed.then(() => running.delete(taskq));
  const exit = endOf(taskq);
  const parsed = [parserOf(taskq.stdout), parserOf(taskq.stderr)];
  const logs = () => parsed.flatMap((lines) => lines());
  return {
    pid: child.pid!,
    logs,
    stdout: taskq.stdout,
    stderr: taskq.stderr,
    waitForLog: (fits, limitMs = 120_000) => waitForLog(taskq, exit, () => logs().find(fits), limitMs),
    closeStdout: () => void child.stdout.destroy(),
    kill: (signal = 'SIGTERM') => void child.kill(signal),
    exit,
  };
}

/** After a kill -9 a handler's process may keep the pipes open for a while: do not wait for it. */
async function endOf(taskq: SpawnedTaskq): Promise<TaskqEnd> {
  await once(taskq.child, 'exit');
  await Promise.race([taskq.closed, sleep(500)]);
  return { code: taskq.child.exitCode, signal: taskq.child.signalCode };
}

/** Kills every daemon that still runs, with its children, and waits for them to end. */
export async function killStartedTaskqs(): Promise<void> {
  started.length = 0;
  await Promise.all(
    [...running].map(async (taskq) => {
      taskq.killGroup();
      await taskq.closed;
    }),
  );
}

function waitForLog(
  taskq: SpawnedTaskq,
  exit: Promise<TaskqEnd>,
  find: () => LogLine | undefined,
  limitMs: number,
): Promise<LogLine> {
  return new Promise((resolve, reject) => {
    const streams = [taskq.child.stdout, taskq.child.stderr];
    const settle = (end: () => void) => {
      clearTimeout(timer);
      for (const stream of streams) stream.off('data', look);
      end();
    };
    const fail = (why: string) =>
      settle(() =>
        reject(new Error(`The log line did not come: ${why}\n${taskq.stdout()}${taskq.stderr()}`)),
      );
    const look = () => {
      const found = find();
      if (found) settle(() => resolve(found));
    };
    const timer = setTimeout(() => fail(`${limitMs} ms are over`), limitMs);
    for (const stream of streams) stream.on('data', look);
    void exit.then(({ code, signal }) => fail(`taskq ended with ${code ?? signal}`)); // no effect once settled
    look();
  });
}

/** Returns what gives the complete lines so far that are JSON objects, each parsed once; other output is not log. */
function parserOf(output: () => string): () => readonly LogLine[] {
  const lines: LogLine[] = [];
  let done = 0;
  return () => {
    const text = output();
    const end = text.lastIndexOf('\n') + 1;
    if (end > done) lines.push(...text.slice(done, end).split('\n').flatMap(parseLine));
    done = Math.max(done, end);
    return lines;
  };
}

function parseLine(line: string): LogLine[] {
  if (!line.startsWith('{')) return [];
  try {
    return [JSON.parse(line) as LogLine];
  } catch {
    return [];
  }
}
