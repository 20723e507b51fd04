/** The answer of `GET series`. */
export interface SeriesAnswer {
  readonly from: string;
  readonly until: string;
  readonly stepMs: number;
  readonly points: readonly SeriesPoint[];
}

/** What happened within a step of time. */
export interface SeriesPoint {
  readonly at: string;
  readonly created: number;
  readonly revived: number;
  readonly completed: number;
  readonly cancelled: number;
  readonly expired: number;
  readonly dead: number;
  readonly attempts: Readonly<Record<'succeeded' | 'failed' | 'snoozed' | 'lost', number>>;
  /** Null: no attempt began, or ended, within the step. */
  readonly waitMs: Percentiles | null;
  readonly runMs: Percentiles | null;
}

export interface Percentiles {
  readonly p50: number;
  readonly p95: number;
}

export const SPANS = ['1h', '6h', '24h', '7d', '30d'] as const;

export type Span = (typeof SPANS)[number];

/** The span of a URL. */
export function spanOf(text: string | null): Span {
  return SPANS.find((span) => span === text) ?? SPANS[0];
}

/** Whether anything happened at all. */
export function isQuiet({ points }: SeriesAnswer): boolean {
  return points.every(
    ({ created, revived, completed, cancelled, expired, dead, attempts }) =>
      created + revived + completed + cancelled + expired + dead + attempts.failed + attempts.lost === 0,
  );
}
