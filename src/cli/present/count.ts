/** `10,000 tasks`, `1 task`. */
export function countOf(count: number, noun: string): string {
  return `${withCommas(count)} ${noun}${count === 1 ? '' : 's'}`;
}

/** `1,234`, or `≥ 1,234` where the count ran out of time. */
export function waitingText({
  waiting,
  at_least,
}: {
  readonly waiting: number;
  readonly at_least: boolean;
}): string {
  return at_least ? `≥ ${withCommas(waiting)}` : withCommas(waiting);
}

/** `1,234,567` */
export function withCommas(count: number): string {
  return count.toLocaleString('en-US');
}
