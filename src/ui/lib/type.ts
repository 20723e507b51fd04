/** A known type with its settings, as `GET types` answers it; those that are null are not set. */
export interface Type extends Readonly<Record<string, unknown>> {
  readonly name: string;
  readonly breaker: Readonly<Record<string, unknown>> | null;
  /** Null: its breaker is closed. */
  readonly breakerOpenedAt: string | null;
  /** When a task may try; null: not before the probe has ended, or someone resumes it. */
  readonly breakerProbeAt?: string | null;
  /** The task that tries now. */
  readonly breakerProbeId?: string | null;
  readonly firstSeenAt: string;
  /** Null: no worker has registered it yet. */
  readonly lastSeenAt: string | null;
  /** The live workers that handle it. */
  readonly workers: readonly string[];
}
