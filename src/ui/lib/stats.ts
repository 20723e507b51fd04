/** The answer of `GET stats`. */
export interface Stats {
  readonly sampledAt: string | null;
  readonly ageMs: number | null;
  readonly boundsMs: readonly number[];
  readonly pairs: readonly StatsPair[];
  /** Null: the caller sees only some queues. */
  readonly workers: Readonly<Record<string, number | null>> | null;
  /** Types of waiting tasks that no live worker handles. */
  readonly unhandledTypes: readonly string[];
}

/** How many tasks of a queue and type there are, and what has happened to them so far. */
export interface StatsPair {
  readonly queue: string;
  readonly type: string;
  readonly counts: Readonly<Record<string, number>>;
  readonly due: number;
  readonly oldestAt: string | null;
  readonly created: number;
  readonly revived: number;
  readonly ended: Readonly<Record<string, number>>;
  readonly attempts: Readonly<Record<string, number>>;
}
