import type { EventLog } from './events.ts';

const PAUSE_MS = 60_000;

interface RefusedTask {
  readonly task_id: string;
  readonly error: string;
  readonly type?: string;
  readonly queue?: string;
}

/** Logs tasks that the database refuses to lease, renew or move, each at most once a minute. */
export class RefusedTasks {
  readonly #events: EventLog;
  readonly #loggedAt = new Map<string, number>();

  constructor(events: EventLog) {
    this.#events = events;
  }

  /** Log the task, unless it was logged within the last minute. */
  log(task: RefusedTask): void {
    const now = performance.now();
    for (const [id, at] of this.#loggedAt) {
      if (now - at >= PAUSE_MS) this.#loggedAt.delete(id);
    }
    if (this.#loggedAt.has(task.task_id)) return;
    this.#loggedAt.set(task.task_id, now);
    this.#events.event('task.refused', { ...task, error: { message: task.error } });
  }
}
