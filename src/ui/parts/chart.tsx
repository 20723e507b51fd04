import { useState } from 'preact/hooks';
import { DataTable } from './data-table.tsx';
import { type ChartProps, DASHES, Plot } from './plot.tsx';
import { ExactTime } from './text.tsx';

/** A chart over time, with the same figures as a table. */
export function Chart(props: ChartProps) {
  const { title, times, series, format } = props;
  const [isTable, setTable] = useState(false);
  const [pointed, point] = useState<number>();
  const at = pointed === undefined ? undefined : times[pointed];
  const shown = (value: number | null | undefined) => (value == null ? '–' : format(value));
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
          keyOf={(place) => String(place)}
          rows={times.map((_, place) => place)}
          columns={[
            { title: 'Time', cell: (place) => <ExactTime at={times[place]!} /> },
            ...series.map(({ label, values }) => ({
              title: label,
              align: 'end' as const,
              cell: (place: number) => shown(values[place]),
            })),
          ]}
        />
      ) : (
        <Plot {...props} pointed={pointed} point={point} />
      )}
      <figcaption class="legend">
        {series.map(({ label, tone, values }, place) => (
          <span key={label}>
            <svg width="24" height="4" aria-hidden="true">
              <line
                x2="24"
                y1="2"
                y2="2"
                class="plotted"
                style={{ stroke: `var(--${tone})` }}
                stroke-dasharray={DASHES[place % DASHES.length]}
              />
            </svg>
            {label} {at !== undefined && <b>{shown(values[pointed!])}</b>}
          </span>
        ))}
        {at !== undefined && <ExactTime at={at} />}
      </figcaption>
    </figure>
  );
}
