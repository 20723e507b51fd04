import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { pathOf, timeTicks, valueAxis } from '../lib/scale.ts';

export interface Series {
  readonly label: string;
  /** One for each time; null: there is none. */
  readonly values: readonly (number | null)[];
  /** The name of a colour of the style sheet, such as `good`. */
  readonly tone: string;
}

export interface ChartProps {
  readonly title: string;
  /** In ascending order, a step apart. */
  readonly times: readonly string[];
  readonly series: readonly Series[];
  format(value: number): string;
  /** Called with the range that someone has drawn. */
  onRange?(from: Date, until: Date): void;
}

/** Lines differ by their dashes too. */
export const DASHES: readonly string[] = ['', '6 3', '2 3', '8 3 2 3'];

const HEIGHT = 190;
const TOP = 8;
const BOTTOM = 22;
const RIGHT = 8;
/** About as wide as a digit of a label, and as a label of the time. */
const DIGIT = 7.5;
const TIME_WIDTH = 80;
/** A range that is narrower is a click. */
const LEAST_RANGE = 5;

interface PlotProps extends ChartProps {
  /** The place of the time that the pointer is at. */
  readonly pointed: number | undefined;
  point(place: number | undefined): void;
}

/** The lines of a chart, as wide as there is room. */
export function Plot({ title, times, series, format, onRange, pointed, point }: PlotProps) {
  const [place, width] = useWidth();
  const [drag, setDrag] = useState<readonly [from: number, to: number]>();
  const axis = useMemo(
    () => valueAxis(Math.max(0, ...series.flatMap(({ values }) => values.map((one) => one ?? 0))), 4),
    [series],
  );
  const labels = axis.ticks.map(format);
  const left = Math.max(...labels.map((label) => label.length)) * DIGIT + 10;
  const [from, until] = [Date.parse(times[0] ?? ''), Date.parse(times.at(-1) ?? '')];
  const inner = Math.max(1, width - left - RIGHT);
  const xOf = (time: number) => left + (until > from ? ((time - from) / (until - from)) * inner : inner);
  const yOf = (value: number) => TOP + (1 - value / axis.most) * (HEIGHT - TOP - BOTTOM);
  const timeAt = (x: number) => from + (Math.min(inner, Math.max(0, x - left)) / inner) * (until - from);
  const paths = useMemo(
    () =>
      series.map(({ values }) =>
        pathOf(
          values.map((value, index) =>
            value === null ? null : [xOf(Date.parse(times[index]!)), yOf(value)],
          ),
        ),
      ),
    [series, times, width, left],
  );
  const moved = ({ offsetX }: PointerEvent) => {
    if (until > from) point(Math.round(((timeAt(offsetX) - from) / (until - from)) * (times.length - 1)));
    if (drag !== undefined) setDrag([drag[0], offsetX]);
  };
  const released = () => {
    setDrag(undefined);
    if (drag === undefined || Math.abs(drag[1] - drag[0]) < LEAST_RANGE) return;
    const [first, last] = drag.toSorted((one, other) => one - other) as [number, number];
    onRange?.(new Date(timeAt(first)), new Date(timeAt(last)));
  };
  return (
    <div ref={place} class="plot" style={{ height: `${HEIGHT}px` }}>
      <svg
        role="img"
        aria-label={`${title}; the button Table has the figures`}
        width={width}
        height={HEIGHT}
        class={onRange === undefined ? '' : 'drawable'}
        onPointerMove={moved}
        onPointerLeave={() => point(undefined)}
        onPointerDown={({ offsetX, button, currentTarget, pointerId }) => {
          if (onRange === undefined || button !== 0) return;
          currentTarget.setPointerCapture(pointerId);
          setDrag([offsetX, offsetX]);
        }}
        onPointerUp={released}
      >
        {axis.ticks.map((value, index) => (
          <g key={value}>
            <line class="grid" x1={left} x2={width - RIGHT} y1={yOf(value)} y2={yOf(value)} />
            <text x={left - 8} y={yOf(value) + 4} text-anchor="end">
              {labels[index]}
            </text>
          </g>
        ))}
        {timeTicks(from, until, inner / TIME_WIDTH).map((time) => (
          <text key={time} x={xOf(time)} y={HEIGHT - 4} text-anchor="middle">
            {timeText(time)}
          </text>
        ))}
        {paths.map((path, index) => (
          <path
            key={series[index]!.label}
            class="plotted"
            d={path}
            style={{ stroke: `var(--${series[index]!.tone})` }}
            stroke-dasharray={DASHES[index % DASHES.length]}
          />
        ))}
        {pointed !== undefined && times[pointed] !== undefined && (
          <line
            class="cursor"
            x1={xOf(Date.parse(times[pointed]))}
            x2={xOf(Date.parse(times[pointed]))}
            y1={TOP}
            y2={HEIGHT - BOTTOM}
          />
        )}
        {drag !== undefined && (
          <rect
            class="range"
            x={Math.min(...drag)}
            width={Math.abs(drag[1] - drag[0])}
            y={TOP}
            height={HEIGHT - TOP - BOTTOM}
          />
        )}
      </svg>
    </div>
  );
}

/** The width of an element, as it changes. */
function useWidth() {
  const place = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const { current } = place;
    if (current === null) return;
    const measure = () => setWidth(current.clientWidth);
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(current);
    return () => observer.disconnect();
  }, []);
  return [place, width] as const;
}

const TIME = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' });
const DAY = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' });

/** A time of the axis: the day at midnight. */
function timeText(time: number): string {
  const text = TIME.format(time);
  return text === '00:00' ? DAY.format(time) : text;
}
