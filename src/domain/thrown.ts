/** Read a property of a value that may be anything at all. Undefined when there is none or reading it throws. */
export function read(value: unknown, name: PropertyKey): unknown {
  try {
    return (value as Record<PropertyKey, unknown> | null | undefined)?.[name];
  } catch {
    return undefined;
  }
}

/** The message of what was thrown, in a few words and without running into a second error. */
export function messageOf(thrown: unknown): string {
  const message = isObject(thrown) ? read(thrown, 'message') : undefined;
  if (typeof message === 'string') return message;
  return isObject(thrown) ? 'an object' : printed(thrown);
}

export function isObject(value: unknown): value is object {
  return (typeof value === 'object' && value !== null) || typeof value === 'function';
}

/** A value that is no object, as text; a BigInt too long to print is only named. */
export function printed(scalar: unknown): string {
  if (typeof scalar !== 'bigint') return String(scalar);
  return BigInt.asIntN(MAX_PRINTED_BITS, scalar) === scalar ? String(scalar) : 'a very large BigInt';
}

const MAX_PRINTED_BITS = 4096;
