/** Returns the shortest of ten runs, in milliseconds: the longer ones measure a busy machine. */
export function leastMs(run: () => unknown): number {
  let least = Number.POSITIVE_INFINITY;
  for (let times = 0; times < 10; times++) {
    const start = performance.now();
    run();
    least = Math.min(least, performance.now() - start);
  }
  return least;
}
