/** A queue has a task from this time on (epoch microseconds). */
export interface WakeHint {
  readonly queue: string;
  readonly fromUs: number;
}

/** The limit of `tasks.queue`. */
const MOST_BYTES = 200;

/**
 * Read a notification of the channel `taskq_wake`. Undefined: it is not ours. Anyone who may connect may notify, so
 * this refuses everything that a claim could not take.
 */
export function wakeHintOf(payload: string): WakeHint | undefined {
  let parsed: unknown;
  try {
    parsed = JSON.parse(payload);
  } catch {
    return undefined;
  }
  if (typeof parsed !== 'object' || parsed === null) return undefined;
  const { queue, from_us: fromUs } = parsed as Readonly<Record<string, unknown>>;
  if (typeof queue !== 'string' || typeof fromUs !== 'number' || !Number.isSafeInteger(fromUs))
    return undefined;
  return isQueue(queue) ? { queue, fromUs } : undefined;
}

/** Whether the database could have a queue of this name. */
function isQueue(name: string): boolean {
  return name !== '' && Buffer.byteLength(name) <= MOST_BYTES && name.isWellFormed() && !name.includes('\0');
}
