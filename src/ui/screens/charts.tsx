import { useMemo } from 'preact/hooks';
import { withQuery } from '../lib/api.ts';
import { useApp, useParams } from '../lib/app.ts';
import { useLoad } from '../lib/load.ts';
import { changed, go, hrefOf, hrefTo } from '../lib/place.ts';
import { isQuiet, type SeriesAnswer, type SeriesPoint, SPANS, type Span, spanOf } from '../lib/series.ts';
import { FINISHED_STATUSES } from '../lib/task.ts';
import { count, duration } from '../lib/text.ts';
import { Chart } from '../parts/chart.tsx';
import { type Filter, Filters } from '../parts/filters.tsx';
import { LoadedView } from '../parts/loaded.tsx';
import type { Series } from '../parts/plot.tsx';
import { Screen, Section } from '../parts/screen.tsx';
import { RangeForm } from './charts/range-form.tsx';

const FILTERS: readonly Filter[] = [
  { name: 'queue', label: 'Queue' },
  { name: 'type', label: 'Type' },
];

const ENDED = [...FINISHED_STATUSES, 'dead'] as const;

/** What happened over time, from an hour to 30 days. */
export function ChartsScreen() {
  const [params] = useParams();
  const span = spanOf(params.get('span'));
  const queue = params.get('queue') ?? undefined;
  const type = params.get('type') ?? undefined;
  const series = useLoad<SeriesAnswer>(withQuery('series', { span, queue, type }));
  const open = (statuses: readonly string[]) => (from: Date, until: Date) =>
    go(
      hrefTo('tasks', [], {
        ...{ queue, type, status: statuses, since: from.toISOString(), before: until.toISOString() },
      }),
    );
  return (
    <Screen title="Charts" actions={<SpanLinks chosen={span} />}>
      <Filters of={FILTERS} />
      <LoadedView of={series}>{(answer) => <Charts {...{ span, answer, open }} />}</LoadedView>
    </Screen>
  );
}

function SpanLinks({ chosen }: { readonly chosen: Span }) {
  const { place } = useApp();
  return (
    <nav class="choice" aria-label="Span">
      {SPANS.map((span) => (
        <a
          key={span}
          href={hrefOf({ ...place, params: changed(place.params, { span }) })}
          aria-current={span === chosen ? 'true' : undefined}
        >
          {span}
        </a>
      ))}
    </nav>
  );
}

interface ChartsProps {
  readonly span: Span;
  readonly answer: SeriesAnswer;
  /** Opens the tasks of these statuses that ended in a range. */
  open(statuses: readonly string[]): (from: Date, until: Date) => void;
}

const PLOTS: readonly {
  readonly title: string;
  readonly statuses: readonly string[];
  format(value: number): string;
  readonly lines: readonly (readonly [
    label: string,
    tone: string,
    of: (point: SeriesPoint) => number | null,
  ])[];
}[] = [
  {
    title: 'Throughput',
    statuses: ENDED,
    format: count,
    lines: [
      ['created', 'busy', ({ created }) => created],
      ['completed', 'good', ({ completed }) => completed],
    ],
  },
  {
    title: 'Failures',
    statuses: ['dead'],
    format: count,
    lines: [
      ['failed attempts', 'warn', ({ attempts }) => attempts.failed + attempts.lost],
      ['deaths', 'bad', ({ dead }) => dead],
    ],
  },
  {
    title: 'Wait until an attempt starts',
    statuses: ENDED,
    format: duration,
    lines: [
      ['p50', 'wait', ({ waitMs }) => waitMs?.p50 ?? null],
      ['p95', 'warn', ({ waitMs }) => waitMs?.p95 ?? null],
    ],
  },
  {
    title: 'Run time of an attempt',
    statuses: ENDED,
    format: duration,
    lines: [
      ['p50', 'wait', ({ runMs }) => runMs?.p50 ?? null],
      ['p95', 'warn', ({ runMs }) => runMs?.p95 ?? null],
    ],
  },
];

function Charts({ span, answer, open }: ChartsProps) {
  // The charts are drawn again when these change.
  const { times, plots } = useMemo(() => {
    const seriesOf = (lines: (typeof PLOTS)[number]['lines']): readonly Series[] =>
      lines.map(([label, tone, of]) => ({ label, tone, values: answer.points.map(of) }));
    return {
      times: answer.points.map(({ at }) => at),
      plots: PLOTS.map((plot) => ({ ...plot, series: seriesOf(plot.lines) })),
    };
  }, [answer]);
  return (
    <Section title={`The last ${span}`}>
      <p class="muted">
        {isQuiet(answer) ? 'Nothing happened in this time. ' : ''}Each point is {duration(answer.stepMs)}.
        Draw over a range of a chart to list the tasks that ended in it.
      </p>
      <div class="charts">
        {plots.map(({ title, format, series, statuses }) => (
          <Chart key={title} {...{ title, times, series, format }} onRange={open(statuses)} />
        ))}
      </div>
      <RangeForm from={answer.from} until={answer.until} open={open(ENDED)} />
    </Section>
  );
}
