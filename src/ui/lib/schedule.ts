/** The answer of `GET schedules`, a schedule of it. */
export interface Schedule {
  readonly name: string;
  readonly expression: string;
  readonly tz: string;
  readonly type: string;
  readonly payload: unknown;
  /** As the database has them: see `optionsOf`. */
  readonly taskOptions: Readonly<Record<string, unknown>>;
  readonly missed: string;
  readonly overlap: string;
  readonly jitterMs: number;
  /** Null: not computed yet; `infinity`: there is none. */
  readonly nextAt: string | null;
  readonly pausedAt: string | null;
  readonly pausedBy: string | null;
  readonly pauseReason: string | null;
  readonly lastTick: string | null;
  readonly lastTaskId: string | null;
  readonly lastStatus: string | null;
  readonly lastError: string | null;
  readonly changedAt: string;
  readonly changedBy: string;
}

/** The answer of `GET schedules/{schedule}/preview`. */
export interface Preview {
  readonly expression: string;
  readonly tz: string;
  readonly ticks: readonly { readonly tick: string; readonly local: string; readonly due: string }[];
}

/** The value of an option for an unlimited number of attempts. */
const UNLIMITED = 2_147_483_647;

/** The options of a schedule's tasks, as `PUT schedules/{schedule}` takes them. */
export function optionsOf({ taskOptions }: Pick<Schedule, 'taskOptions'>): Readonly<Record<string, unknown>> {
  const options = asGiven(taskOptions);
  if (options.maxAttempts === UNLIMITED) options.maxAttempts = 'unlimited';
  if (options.backoff !== undefined) {
    const { factor, ...backoff } = asGiven(options.backoff as Readonly<Record<string, unknown>>);
    options.backoff = backoff.kind === 'exponential' ? { ...backoff, factor } : backoff;
  }
  return options;
}

/** Names as people write them, durations in milliseconds: `timeout_ms` is `timeout`. */
function asGiven(stored: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(stored).map(([name, value]) => [
      name.replace(/_ms$/, '').replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
      value,
    ]),
  );
}
