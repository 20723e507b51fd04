/** `10,000 tasks`, `1 task`. */
export function countOf(count: number, noun: string): string {
  return `${withCommas(count)} ${noun}${count === 1 ? '' : 's'}`;
}

/** `1,234,567` */
export function withCommas(count: number): string {
  return count.toLocaleString('en-US');
}
