import type { EventLog } from './events.ts';
import { OnceAMinute } from './once-a-minute.ts';

interface RefusedTask {
  readonly task_id: string;
  readonly error: string;
  readonly type?: string;
  readonly queue?: string;
}

/** Logs tasks that the database refuses to lease, renew or move, each at most once a minute. */
export class RefusedTasks {
  readonly #events: EventLog;
  readonly #logged = new OnceAMinute();

  constructor(events: EventLog) {
    this.#events = events;
  }

  /** Log the task, unless it was logged within the last minute. */
  log(task: RefusedTask): void {
    if (!this.#logged.pass(task.task_id)) return;
    this.#events.event('task.refused', { ...task, error: { message: task.error } });
  }
}
