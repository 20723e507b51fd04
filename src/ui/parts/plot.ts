import UPlot from 'uplot';
import { type ChartProps, DASHES } from './chart.tsx';

const HEIGHT = 190;

/** Draws a chart into an element, as wide as it is. Returns a function that removes it. */
export function plot(element: HTMLElement, { times, series, format, onRange }: ChartProps): () => void {
  const style = getComputedStyle(element);
  const colour = (name: string) => resolved(element, `var(--${name})`);
  const axis = {
    stroke: colour('muted'),
    grid: { stroke: colour('line'), width: 1 },
    ticks: { show: false },
    font: `12px ${style.fontFamily}`,
  };
  const chart = new UPlot(
    {
      width: element.clientWidth,
      height: HEIGHT,
      legend: { show: false },
      cursor: { drag: { x: onRange !== undefined, y: false, setScale: false }, points: { size: 6 } },
      scales: { y: { range: (_, __, most) => [0, Math.max(most * 1.08, 1)] } },
      axes: [
        { ...axis, values: (_, times) => times.map(timeText) },
        { ...axis, size: 58, values: (_, values) => values.map(format) },
      ],
      series: [
        {},
        ...series.map(({ label, tone }, place) => ({
          ...{ label, stroke: colour(tone), width: 2, points: { show: false } },
          dash: [...DASHES[place % DASHES.length]!],
        })),
      ],
      hooks: { setSelect: [(drawn: UPlot) => select(drawn, onRange)] },
    },
    [times.map((at) => Date.parse(at) / 1000), ...series.map(({ values }) => [...values])],
    element,
  );
  const observer = new ResizeObserver(() => chart.setSize({ width: element.clientWidth, height: HEIGHT }));
  observer.observe(element);
  return () => {
    observer.disconnect();
    chart.destroy();
  };
}

function select(drawn: UPlot, onRange: ChartProps['onRange']): void {
  const { left, width } = drawn.select;
  if (width < 4) return;
  const timeAt = (x: number) => new Date(drawn.posToVal(x, 'x') * 1000);
  onRange?.(timeAt(left), timeAt(left + width));
}

const TIME = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' });
const DAY = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' });

/** A time of the axis: the day at midnight. */
function timeText(seconds: number): string {
  const text = TIME.format(seconds * 1000);
  return text === '00:00' ? DAY.format(seconds * 1000) : text;
}

/** A canvas knows no `light-dark()`: the colour as it is now. */
function resolved(element: HTMLElement, colour: string): string {
  const probe = document.createElement('i');
  probe.style.color = colour;
  element.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}
