/** Milliseconds of the machine's monotonic clock: the same in every process, so times taken in two are comparable. */
export function clockMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
