import type { EventLog } from '../log/events.ts';

const SILENCE_MS = 60_000;

interface RefusedTask {
  readonly task_id: string;
  readonly error: string;
  readonly type?: string;
  readonly queue?: string;
}

/** Logs tasks that the database refuses to move, each at most once a minute. */
export class RefusedTasks {
  readonly #events: EventLog;
  readonly #toldAt = new Map<string, number>();

  constructor(events: EventLog) {
    this.#events = events;
  }

  /** Log the task, unless it was logged within the last minute. */
  tell(task: RefusedTask): void {
    const now = performance.now();
    for (const [id, at] of this.#toldAt) {
      if (now - at >= SILENCE_MS) this.#toldAt.delete(id);
    }
    if (this.#toldAt.has(task.task_id)) return;
    this.#toldAt.set(task.task_id, now);
    this.#events.event('task.refused', { ...task, error: { message: task.error } });
  }
}
