/** A queue with its settings, as `GET queues` answers it; those that are null are not set. */
export interface Queue extends Readonly<Record<string, unknown>> {
  readonly name: string;
  /** Null: not paused. */
  readonly pausedAt: string | null;
  /** Null: until it is resumed. */
  readonly pausedUntil: string | null;
  readonly pausedBy: string | null;
  readonly pauseReason: string | null;
  readonly maxRunning: number | null;
  readonly rate: string | null;
  readonly burst: number | null;
  readonly groupLimit: number | null;
  readonly groupRate: string | null;
}

/** A group of a queue, as its list answers it. */
export interface Group {
  readonly name: string;
  /** The limit in force; 0: it is stopped, null: none. */
  readonly slots: number | null;
  readonly rate: string | null;
  readonly burst: number | null;
  /** Tasks that have a slot, wait for one, or wait for their time first. */
  readonly holding: number;
  readonly waiting: number;
  readonly delayed: number;
  readonly pausedAt: string | null;
  readonly pausedBy: string | null;
  readonly pauseReason: string | null;
}

/** A group with its settings and its tasks, as `GET queues/{queue}/groups/{group}` answers it. */
export interface GroupDetails extends Omit<Group, 'pausedAt' | 'pausedBy' | 'pauseReason'> {
  /** Its own limit; null: that of its queue applies. */
  readonly limit: number | null;
  readonly pause: {
    readonly since: string;
    readonly by: string | null;
    readonly reason: string | null;
  } | null;
  readonly applies: Readonly<
    Record<'limit' | 'rate' | 'order' | 'onDead', { readonly value: unknown; readonly from: string }>
  >;
  readonly nextSlotAt: string | null;
  readonly stops: readonly { readonly cause: string }[];
  readonly holders: readonly SlotTask[];
  readonly next: readonly SlotTask[];
}

/** A task that has a slot of its group, or is next. */
export interface SlotTask {
  readonly id: string;
  readonly type: string;
  readonly priority: number;
  readonly status?: string;
  readonly since?: string | null;
  readonly createdAt?: string;
}

/** The limits of a queue, in short; null: it has none. */
export function limitsText({ maxRunning, rate, burst, groupLimit, groupRate }: Queue): string | null {
  const own = [maxRunning === null ? '' : `${maxRunning} at once`, rateText(rate, burst)];
  const groups = [groupLimit === null ? '' : `${groupLimit} at once`, groupRate ?? ''].filter(Boolean);
  if (groups.length > 0) own.push(`each group ${groups.join(', ')}`);
  return own.filter(Boolean).join('; ') || null;
}

/** A rate with its burst: `100/1m, bursts of 20`. */
export function rateText(rate: string | null, burst: number | null): string {
  if (rate === null) return '';
  return burst === null || burst === 1 ? rate : `${rate}, bursts of ${burst}`;
}
