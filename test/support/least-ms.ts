/** What it takes, in milliseconds, at best of ten times: that the machine was busy with something else is no news. */
export function leastMs(run: () => unknown): number {
  let least = Number.POSITIVE_INFINITY;
  for (let times = 0; times < 10; times++) {
    const start = performance.now();
    run();
    least = Math.min(least, performance.now() - start);
  }
  return least;
}
