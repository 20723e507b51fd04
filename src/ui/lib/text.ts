/** Characters that change the order of the text around them, or are invisible. Joiners of emoji and of scripts stay. */
const UNSEEN = /(?![\n\t])[\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}\u00ad\u200b\u2060\ufeff\ufff9-\ufffb]/gu;

/** Text with its invisible characters written out: `\u202e`. */
export function visible(text: string): string {
  return text.replaceAll(UNSEEN, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1000],
] as const;

/** A duration in at most two units: `2 h 5 min`, `340 ms`. */
export function duration(ms: number): string {
  const size = Math.abs(ms);
  if (size < 1000) return `${Math.trunc(ms)} ms`;
  if (size < 10_000) return `${(Math.floor(ms / 100) / 10).toFixed(1)} s`;
  const at = UNITS.findIndex(([, unit]) => size >= unit);
  const [name, unit] = UNITS[at]!;
  const whole = Math.floor(size / unit);
  const next = UNITS[at + 1];
  const rest = next === undefined ? 0 : Math.floor((size - whole * unit) / next[1]);
  const sign = ms < 0 ? '−' : '';
  return rest === 0 || next === undefined
    ? `${sign}${whole} ${name}`
    : `${sign}${whole} ${name} ${rest} ${next[0]}`;
}

/** An age in one unit: `7 s`, `3 d`. */
export function age(ms: number): string {
  const size = Math.max(0, ms);
  const [name, unit] = UNITS.find(([, one]) => size >= one) ?? UNITS[3];
  return `${Math.floor(size / unit)} ${name}`;
}

/** A time as seen from now: `3 min ago`, `in 2 h`, `now`. */
export function relative(at: Date, now: number): string {
  const ms = now - at.getTime();
  if (Math.abs(ms) < 1000) return 'now';
  return ms > 0 ? `${age(ms)} ago` : `in ${age(-ms)}`;
}

const WHOLE = new Intl.NumberFormat('en');

/** A count with separators. */
export function count(value: number): string {
  return WHOLE.format(value);
}

/** A count with its noun: `1 task`, `2 tasks`. */
export function counted(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}
