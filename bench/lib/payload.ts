/** The payload of a bench task: its number, and padding up to a size. */
export interface Payload {
  readonly n: number;
  /** Take this long, instead of no time. */
  readonly sleepMs?: number;
  /** Enqueue another task with its end. */
  readonly follow?: true;
  readonly pad?: string;
}

/** The bytes of a small payload: hardly more than a number. */
export const SMALL = 20;

/** The JSON text of task `n`, of about `bytes` bytes. */
export function payloadText(n: number, bytes: number): string {
  const bare = `{"n":${n}}`;
  const room = bytes - bare.length - 9;
  return room <= 0 ? bare : `{"n":${n},"pad":"${'x'.repeat(room)}"}`;
}

export function payloadOf(n: number, bytes: number): Payload {
  return JSON.parse(payloadText(n, bytes)) as Payload;
}

/** The numbers from `from` on, `count` of them, in arrays of at most `size`. */
export function* batches(count: number, size: number, from = 0): Generator<number[]> {
  for (let start = from; start < from + count; start += size) {
    yield Array.from({ length: Math.min(size, from + count - start) }, (_, index) => start + index);
  }
}
