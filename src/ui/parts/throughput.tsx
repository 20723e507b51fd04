import { useMemo } from 'preact/hooks';
import { useLoad } from '../lib/load.ts';
import { count } from '../lib/text.ts';
import { Chart } from './chart.tsx';
import { LoadedView } from './loaded.tsx';
import type { Series } from './plot.tsx';
import { Section } from './screen.tsx';

/** The answer of `GET series`. */
export interface SeriesAnswer {
  readonly from: string;
  readonly until: string;
  readonly stepMs: number;
  readonly points: readonly SeriesPoint[];
}

export interface SeriesPoint {
  readonly at: string;
  readonly created: number;
  readonly revived: number;
  readonly completed: number;
  readonly cancelled: number;
  readonly expired: number;
  readonly dead: number;
}

/** The tasks enqueued, completed and dead in each minute of the last hour. */
export function Throughput() {
  const loaded = useLoad<SeriesAnswer>('series?span=1h');
  return (
    <Section title="The last hour">
      <LoadedView of={loaded}>{({ points }) => <ThroughputChart points={points} />}</LoadedView>
    </Section>
  );
}

function ThroughputChart({ points }: { readonly points: readonly SeriesPoint[] }) {
  const times = useMemo(() => points.map(({ at }) => at), [points]);
  const series = useMemo<readonly Series[]>(
    () => [
      { label: 'created', tone: 'busy', values: points.map(({ created }) => created) },
      { label: 'completed', tone: 'good', values: points.map(({ completed }) => completed) },
      { label: 'dead', tone: 'bad', values: points.map(({ dead }) => dead) },
    ],
    [points],
  );
  return <Chart title="Tasks per minute" times={times} series={series} format={count} />;
}
