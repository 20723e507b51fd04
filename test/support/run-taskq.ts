import { spawnTaskq, type TaskqOptions } from './spawn-taskq.ts';
import type { TaskqEnd } from './start-taskq.ts';

/** How a run of the binary ended. */
export interface TaskqResult extends TaskqEnd {
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions extends TaskqOptions {
  /** Content of stdin; default: none. */
  readonly input?: string;
  /** The run is killed, and fails, after this time; default two minutes. */
  readonly limitMs?: number;
}

/** Runs the built binary to its end, without a terminal. Returns any exit code; throws only if the run does not end. */
export async function runTaskq(args: readonly string[], options: RunOptions = {}): Promise<TaskqResult> {
  const limitMs = options.limitMs ?? 120_000;
  const taskq = spawnTaskq(args, options);
  taskq.child.stdin.on('error', () => {}); // it may end without reading its input
  taskq.child.stdin.end(options.input ?? '');
  const limit = AbortSignal.timeout(limitMs);
  limit.addEventListener('abort', taskq.killGroup);
  await taskq.closed;
  limit.removeEventListener('abort', taskq.killGroup);
  const { exitCode: code, signalCode: signal } = taskq.child;
  const result = { code, signal, stdout: taskq.stdout(), stderr: taskq.stderr() };
  if (!limit.aborted) return result;
  throw new Error(`taskq ${args.join(' ')} did not end in ${limitMs} ms: ${JSON.stringify(result)}`);
}
