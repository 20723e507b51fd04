import type { TaskFilter } from '../inspect/task-filter.ts';

/** Who acts. `taskq.audit` always records the role of the session. */
export interface Acting {
  /** A name to record beside the role. */
  readonly by?: string | undefined;
  /** Why, recorded too: at most 1,000 characters. */
  readonly reason?: string | null | undefined;
}

export interface ActingOnTasks extends Acting {
  /** Act only on tasks of these queues, names in which `*` stands for any text; null: of any. */
  readonly queues?: readonly string[] | null | undefined;
  /** Recorded as the filter that chose the tasks; undefined: they were chosen by id. */
  readonly filter?: TaskFilter | undefined;
}
