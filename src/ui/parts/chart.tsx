import { useEffect, useRef, useState } from 'preact/hooks';
import { useAppearance } from '../lib/appearance.ts';
import { DataTable } from './data-table.tsx';
import { ExactTime } from './text.tsx';

export interface Series {
  readonly label: string;
  /** One for each time; null: there is none. */
  readonly values: readonly (number | null)[];
  /** The name of a colour of the style sheet, such as `good`. */
  readonly tone: string;
}

export interface ChartProps {
  readonly title: string;
  /** In ascending order. */
  readonly times: readonly string[];
  readonly series: readonly Series[];
  format(value: number): string;
  /** Called with the range that someone has drawn. */
  onRange?(from: Date, until: Date): void;
}

/** Lines differ by their dashes too. */
export const DASHES: readonly (readonly number[])[] = [[], [6, 3], [2, 3], [8, 3, 2, 3]];

/** A chart over time, with the same figures as a table. */
export function Chart(props: ChartProps) {
  const { title, times, series, format } = props;
  const [isTable, setTable] = useState(false);
  const rows = times.map((at, place) => ({ at, values: series.map(({ values }) => values[place] ?? null) }));
  return (
    <figure class="chart">
      <div class="heading">
        <h3>{title}</h3>
        <button type="button" class="quiet small" aria-pressed={isTable} onClick={() => setTable(!isTable)}>
          Table<span class="unseen"> of {title}</span>
        </button>
      </div>
      {isTable ? (
        <DataTable
          caption={title}
          keyOf={({ at }) => at}
          rows={rows}
          columns={[
            { title: 'Time', cell: ({ at }) => <ExactTime at={at} /> },
            ...series.map(({ label }, place) => ({
              title: label,
              align: 'end' as const,
              cell: ({ values }: (typeof rows)[number]) =>
                values[place] == null ? '–' : format(values[place]),
            })),
          ]}
        />
      ) : (
        <Canvas {...props} />
      )}
      <figcaption class="legend">
        {series.map(({ label, tone }, place) => (
          <span key={label}>
            <svg width="24" height="4" aria-hidden="true">
              <line
                x2="24"
                y1="2"
                y2="2"
                stroke={`var(--${tone})`}
                stroke-width="2"
                stroke-dasharray={DASHES[place % DASHES.length]!.join(' ')}
              />
            </svg>
            {label}
          </span>
        ))}
      </figcaption>
    </figure>
  );
}

/** Draws with uPlot, which is loaded with the first chart. */
function Canvas(props: ChartProps) {
  const place = useRef<HTMLDivElement>(null);
  const appearance = useAppearance();
  const { title, times, series } = props;
  const latest = useRef(props);
  latest.current = props;
  // Drawn again with other figures or colours.
  useEffect(() => {
    let end: (() => void) | undefined;
    let isOver = false;
    void import('./plot.ts').then(({ plot }) => {
      if (!isOver && place.current !== null) end = plot(place.current, latest.current);
    });
    return () => {
      isOver = true;
      end?.();
    };
  }, [times, series, appearance]);
  return (
    <div ref={place} class="canvas" role="img" aria-label={`${title}; the button Table has the figures`} />
  );
}
