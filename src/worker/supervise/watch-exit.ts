import { writeLastLine } from '../log/last-line.ts';

export interface ExitWatchOptions {
  readonly workerId: number;
  /** The ids of the running tasks. */
  readonly running: () => readonly string[];
  /** Aborted when the process may exit before its worker has ended. */
  readonly hurry: AbortSignal;
}

/**
 * Make the process exit with 1, and log it, if something calls `process.exit` before the worker has ended: its
 * supervisor then starts another. Returns a function that ends the watch.
 */
export function watchExit({ workerId, running, hurry }: ExitWatchOptions): () => void {
  const onExit = (code: number) => {
    if (hurry.aborted) return;
    process.exitCode = 1;
    const held = { worker_id: workerId, task_ids: running().slice(0, 100) };
    writeLastLine(1, 'worker.exited', { ...held, exit_code: code });
  };
  process.on('exit', onExit);
  return () => process.off('exit', onExit);
}
