/** The longest timer, 24 days: Node fires one that is longer after a millisecond. */
export const MAX_TIMER_MS = 2 ** 31 - 1;
