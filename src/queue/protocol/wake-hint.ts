/** That a queue has a task from that time on (epoch microseconds). */
export interface WakeHint {
  readonly queue: string;
  readonly fromUs: number;
}

/** What `tasks.queue` takes. */
const MOST_BYTES = 200;

/**
 * Read what came on the channel `taskq_wake`. Undefined: it is none of ours. Anyone who may connect may notify, so
 * everything is checked that a claim could not be asked with.
 */
export function wakeHintOf(payload: string): WakeHint | undefined {
  let said: unknown;
  try {
    said = JSON.parse(payload);
  } catch {
    return undefined;
  }
  if (typeof said !== 'object' || said === null) return undefined;
  const { queue, from_us: fromUs } = said as Readonly<Record<string, unknown>>;
  if (typeof queue !== 'string' || typeof fromUs !== 'number' || !Number.isSafeInteger(fromUs))
    return undefined;
  return isQueue(queue) ? { queue, fromUs } : undefined;
}

/** Whether the database could have a queue of this name. */
function isQueue(name: string): boolean {
  return name !== '' && Buffer.byteLength(name) <= MOST_BYTES && name.isWellFormed() && !name.includes('\0');
}
