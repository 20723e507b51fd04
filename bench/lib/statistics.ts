/** The median of some numbers; undefined: there are none. */
export function median(values: readonly number[]): number | undefined {
  return percentile(values, 50);
}

/** The smallest value that `percent` of all do not exceed; undefined: there are none. */
export function percentile(values: readonly number[], percent: number): number | undefined {
  const sorted = [...values].sort((a, b) => a - b);
  if (percent === 50 && sorted.length > 0 && sorted.length % 2 === 0) {
    return (sorted[sorted.length / 2 - 1]! + sorted[sorted.length / 2]!) / 2;
  }
  return sorted[Math.max(0, Math.ceil((percent / 100) * sorted.length) - 1)];
}
