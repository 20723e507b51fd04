/** Draws by numbers from 0 up to 1: by chance, or the same again for the same seed. */
export interface Draw {
  /** A whole number from 0, less than this. */
  readonly upTo: (most: number) => number;
  readonly oneOf: <T>(values: readonly T[]) => T;
  /** True so often, on average. */
  readonly isOnce: (share: number) => boolean;
}

export function drawFrom(random: () => number): Draw {
  const upTo = (most: number) => Math.floor(random() * most);
  return { upTo, oneOf: (values) => values[upTo(values.length)]!, isOnce: (share) => random() < share };
}

export const byChance = drawFrom(Math.random);
