/** Where a chart has its lines, and where its axes have labels. */
export interface Axis {
  readonly most: number;
  readonly ticks: readonly number[];
}

const STEPS = [1, 2, 2.5, 5, 10];

/** An axis from 0 on for values up to this one, with about as many labels as wanted. */
export function valueAxis(most: number, wanted: number): Axis {
  if (!(most > 0)) return { most: 1, ticks: [0, 1] };
  const rough = most / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = STEPS.find((one) => one * power >= rough)! * power;
  const number = Math.ceil(most / step);
  return { most: number * step, ticks: Array.from({ length: number + 1 }, (_, place) => place * step) };
}

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const TIME_STEPS = [
  ...[1, 2, 5, 10, 15, 30].map((minutes) => minutes * MINUTE),
  ...[1, 2, 3, 6, 12].map((hours) => hours * HOUR),
  ...[1, 2, 7, 14, 30, 90].map((days) => days * DAY),
];

/** Round local times in a range, at most as many as wanted. */
export function timeTicks(from: number, until: number, wanted: number): readonly number[] {
  const step = TIME_STEPS.find((one) => (until - from) / one <= wanted) ?? TIME_STEPS.at(-1)!;
  // Hours and days are round where people live.
  const shift = new Date(until).getTimezoneOffset() * MINUTE;
  const first = Math.ceil((from - shift) / step) * step + shift;
  return Array.from(
    { length: Math.max(0, Math.floor((until - first) / step) + 1) },
    (_, place) => first + place * step,
  );
}

/** Lines through points, as an SVG path; null: there is no point. One alone is a dot. */
export function pathOf(points: readonly (readonly [x: number, y: number] | null)[]): string {
  return points
    .map((point, place) => {
      if (point === null) return '';
      const isFirst = place === 0 || points[place - 1] === null;
      const isAlone = isFirst && (points[place + 1] ?? null) === null;
      const at = point.map((one) => Math.round(one * 10) / 10).join(' ');
      return `${isFirst ? 'M' : 'L'}${at}${isAlone ? 'h.1' : ''}`;
    })
    .join('');
}
