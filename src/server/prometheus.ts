/** One metric with its series, as Prometheus names them. */
export interface Metric {
  readonly name: string;
  readonly type: 'gauge' | 'counter' | 'histogram';
  readonly help: string;
  readonly series: readonly Series[];
}

export interface Series {
  readonly labels?: Labels;
  readonly value: number | Histogram;
}

export type Labels = Readonly<Record<string, string>>;

export interface Histogram {
  /** How many values lie in each bucket, up to its bound, with a last bucket beyond all bounds; not cumulative. */
  readonly counts: readonly number[];
  readonly bounds: readonly number[];
  readonly sum: number;
}

/** The media type of the text format. */
export const TEXT_FORMAT = 'text/plain; version=0.0.4; charset=utf-8';

/** Writes metrics in the text format of Prometheus, version 0.0.4. Leaves out those without a series. */
export function textOf(metrics: readonly Metric[]): string {
  return metrics
    .filter(({ series }) => series.length > 0)
    .map(({ name, type, help, series }) => {
      const lines = series.flatMap(({ labels = {}, value }) =>
        // A number of the database may be an ExactNumber.
        typeof value === 'object' && 'counts' in value
          ? histogramLines(name, labels, value)
          : [line(name, labels, Number(value))],
      );
      return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...lines, ''].join('\n');
    })
    .join('');
}

function histogramLines(name: string, labels: Labels, { counts, bounds, sum }: Histogram): string[] {
  let upTo = 0;
  const buckets = counts.map((count, place) => {
    upTo += count;
    return line(`${name}_bucket`, { ...labels, le: String(bounds[place] ?? '+Inf') }, upTo);
  });
  return [...buckets, line(`${name}_sum`, labels, sum), line(`${name}_count`, labels, upTo)];
}

function line(name: string, labels: Labels, value: number): string {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escaped(text)}"`);
  return `${name}${pairs.length === 0 ? '' : `{${pairs.join(',')}}`} ${value}`;
}

function escaped(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}
