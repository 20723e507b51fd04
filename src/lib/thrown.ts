/** Reads a property of any value. Undefined if there is none or reading it throws. */
export function read(value: unknown, name: PropertyKey): unknown {
  try {
    return (value as Record<PropertyKey, unknown> | null | undefined)?.[name];
  } catch {
    return undefined;
  }
}

/** Returns the message of a thrown value, briefly and without throwing. */
export function messageOf(thrown: unknown): string {
  const message = isObject(thrown) ? read(thrown, 'message') : undefined;
  if (typeof message === 'string') return message;
  return isObject(thrown) ? 'an object' : printed(thrown);
}

export function isObject(value: unknown): value is object {
  return (typeof value === 'object' && value !== null) || typeof value === 'function';
}

/** Formats a value that is not an object; a very long BigInt is only named. */
export function printed(scalar: unknown): string {
  if (typeof scalar !== 'bigint') return String(scalar);
  return BigInt.asIntN(MAX_PRINTED_BITS, scalar) === scalar ? String(scalar) : 'a very large BigInt';
}

const MAX_PRINTED_BITS = 4096;
