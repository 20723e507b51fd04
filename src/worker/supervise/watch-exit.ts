import { writeSync } from 'node:fs';
import { EVENTS } from '../log/events.ts';

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
    const [level, msg] = EVENTS['worker.exited'];
    const line = {
      level,
      time: new Date().toISOString(),
      event: 'worker.exited',
      worker_id: workerId,
      exit_code: code,
      task_ids: running().slice(0, 100),
      msg,
    };
    try {
      writeSync(1, `${JSON.stringify(line)}\n`);
    } catch {
      // Nothing reads the log, or not fast enough.
    }
  };
  process.on('exit', onExit);
  return () => process.off('exit', onExit);
}
