import { writeSync } from 'node:fs';
import { EVENTS } from '../log/events.ts';

export interface ExitWatchOptions {
  readonly workerId: number;
  /** The ids of the tasks that run now. */
  readonly running: () => readonly string[];
  /** Aborted where the process may exit before its worker has ended. */
  readonly hurry: AbortSignal;
}

/**
 * See to it that a process in which somebody calls `process.exit` before its worker has ended exits with 1 and says so:
 * its supervisor starts another. Returns what ends the watch.
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
      // It has no reader, or a slow one.
    }
  };
  process.on('exit', onExit);
  return () => process.off('exit', onExit);
}
