import { withCommas } from '../../lib/count.ts';

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
