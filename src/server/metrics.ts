import { packageVersion } from '../lib/package-root.ts';
import type { Sample, SampledPair } from '../queue/inspect/get-sample.ts';
import type { Vitals } from '../queue/inspect/get-vitals.ts';
import type { Histogram, Labels, Metric, Series } from './prometheus.ts';
import type { RequestCounts } from './request-counts.ts';

export interface MetricsSource {
  readonly sample: Sample;
  readonly vitals: Vitals;
  readonly requests: RequestCounts;
}

/** The most queues and types, and the most paused queues, with series of their own. */
export const MOST_SERIES_OF = 100;

/** Returns the metrics of `/metrics`. */
export function metricsOf({ sample, vitals, requests }: MetricsSource): Metric[] {
  return [...ofTasks(sample), ...ofWorkers(sample), ...ofServer(sample, vitals), requests.metric()];
}

function ofTasks({ pairs, bounds_ms: boundsMs }: Sample): Metric[] {
  const each = (series: (pair: SampledPair) => readonly Series[]) =>
    pairs.flatMap((pair) => {
      const { queue, type } = pair;
      return series(pair).map(({ labels, value }) => ({ labels: { queue, type, ...labels }, value }));
    });
  const bounds = boundsMs.map(seconds);
  const histogram = (counts: readonly number[], sumMs: number): Histogram => ({
    ...{ counts, bounds, sum: seconds(sumMs) },
  });
  return [
    gauge(
      'tasks',
      'Live tasks and dead letters in the last sample.',
      each(({ counts }) => by('status', counts)),
    ),
    gauge(
      'due_tasks',
      'Tasks that were due in the last sample.',
      each(({ due }) => one(due)),
    ),
    gauge(
      'oldest_due_timestamp_seconds',
      'Since when the oldest due task is due.',
      each(({ oldest_at: at }) => (at === null ? [] : one(timestamp(at)))),
    ),
    counter(
      'enqueued_total',
      'Tasks that were enqueued.',
      each(({ created }) => one(created)),
    ),
    counter(
      'revived_total',
      'Dead letters that were revived.',
      each(({ revived }) => one(revived)),
    ),
    counter(
      'ended_total',
      'Tasks that ended.',
      each(({ ended }) => by('status', ended)),
    ),
    counter(
      'attempts_total',
      'Attempts that ended.',
      each(({ attempts }) => by('outcome', attempts)),
    ),
    {
      ...{ name: 'taskq_wait_seconds', type: 'histogram' },
      help: 'How long attempts that ended had waited to start, since they could.',
      series: each(({ waits, wait_ms: ms }) => [{ value: histogram(waits, ms) }]),
    },
    {
      ...{ name: 'taskq_run_seconds', type: 'histogram' },
      help: 'How long attempts that ended ran.',
      series: each(({ runs, run_ms: ms }) => [{ value: histogram(runs, ms) }]),
    },
  ];
}

function ofWorkers({ unhandled, workers, pairs }: Sample): Metric[] {
  const { live, paused, stopping, silent, slots, busy, heartbeat_delay_ms: delayMs } = workers!;
  const { leases_lost: leasesLost } = workers!;
  const lost = pairs.reduce((sum, { attempts }) => sum + attempts.lost, 0);
  return [
    gauge(
      'unhandled_tasks',
      'Waiting tasks of types that no live worker handles.',
      unhandled.map(({ type, tasks }) => ({ labels: { type }, value: tasks })),
    ),
    gauge('workers', 'Workers that have not ended.', by('state', { live, paused, stopping, silent })),
    gauge(
      'slots',
      'Slots of workers that are not silent.',
      by('state', { busy, idle: Math.max(0, slots - busy) }),
    ),
    gauge(
      'heartbeat_delay_seconds',
      'The longest time since the last heartbeat of a worker that is not silent.',
      orNone(delayMs),
    ),
    counter('lease_lost_total', 'Leases that live workers found to be lost.', one(leasesLost)),
    counter('rescued_total', 'Attempts that were taken back from workers that had gone silent.', one(lost)),
  ];
}

function ofServer(sample: Sample, vitals: Vitals): Metric[] {
  const paused = new Set(vitals.paused_queues);
  const queues = new Set([...sample.pairs.map(({ queue }) => queue), ...paused]);
  queues.delete('_other');
  const { sampled_at: sampledAt, dead_groups: groups } = sample;
  return [
    gauge(
      'queue_paused',
      '1: the queue is paused.',
      [...queues].map((queue) => ({ labels: { queue }, value: Number(paused.has(queue)) })),
    ),
    gauge('dead_groups', 'Groups of dead letters in the last sample.', one(groups!)),
    gauge(
      'xmin_age_seconds',
      'Age of the oldest transaction that keeps vacuum from removing dead rows; 0: there is none.',
      one(seconds(vitals.xmin_age_ms ?? 0)),
    ),
    gauge(
      'notification_queue_ratio',
      'How full the queue of notifications of the server is, 0 to 1.',
      one(vitals.notification_queue_ratio),
    ),
    gauge(
      'replica_lag_seconds',
      'How far a standby is behind: this one, or the last one of this primary.',
      orNone(vitals.replica_lag_ms),
    ),
    gauge(
      'sample_timestamp_seconds',
      'When the last sample was taken.',
      sampledAt === null ? [] : one(timestamp(sampledAt)),
    ),
    gauge('build_info', 'The version of this server and the release of the functions; always 1.', [
      { labels: { version: packageVersion(), release: String(vitals.release) }, value: 1 },
    ]),
  ];
}

function gauge(name: string, help: string, series: readonly Series[]): Metric {
  return { name: `taskq_${name}`, type: 'gauge', help, series };
}

function counter(name: string, help: string, series: readonly Series[]): Metric {
  return { name: `taskq_${name}`, type: 'counter', help, series };
}

function one(value: number, labels: Labels = {}): Series[] {
  return [{ labels, value }];
}

function orNone(ms: number | null): Series[] {
  return ms === null ? [] : one(seconds(ms));
}

function by(label: string, values: Readonly<Record<string, number>>): Series[] {
  return Object.entries(values).flatMap(([text, value]) => one(value, { [label]: text }));
}

function seconds(ms: number): number {
  return ms / 1000;
}

function timestamp(at: string): number {
  return seconds(Date.parse(at));
}
