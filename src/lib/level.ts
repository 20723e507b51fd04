/** How much a line of a log matters, from the least to the most urgent. */
export const LEVELS = ['debug', 'info', 'warn', 'error'] as const;

export type Level = (typeof LEVELS)[number];
