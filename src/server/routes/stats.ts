import { checkedName } from '../../domain/names.ts';
import { toDurationMs } from '../../lib/duration.ts';
import { getSample } from '../../queue/inspect/get-sample.ts';
import { getSeries } from '../../queue/inspect/get-series.ts';
import { instantOf } from '../../queue/inspect/instant.ts';
import { answers200 } from '../answers.ts';
import { camel } from '../camel.ts';
import { badRequest } from '../problem.ts';
import { ok, type Route } from '../route.ts';
import { ref, TEXT } from '../schema.ts';
import { MOST_PAIRS, statsOf } from '../stats-body.ts';

const stats: Route = {
  method: 'GET',
  path: '/stats',
  role: 'viewer',
  summary:
    'Return the last sample of all tasks, the sums of what has happened, and the workers. Reads no task.',
  answers: answers200('The figures', ref('Stats')),
  async handle({ db, caller: { queues = null } }) {
    return ok(statsOf((await getSample(db, MOST_PAIRS, { queues }))!));
  },
};

const live: Route = {
  method: 'GET',
  path: '/live',
  role: 'viewer',
  summary: 'Send the figures of `/stats` with each new sample, as server-sent events.',
  answers: {
    200: {
      description: '`stats`, whose data is a Stats, and `trouble`, whose data has `code` and `detail`',
      schema: TEXT,
      type: 'text/event-stream',
    },
  },
  async handle({ caller: { queues }, token, headers, signal, live: events }) {
    return ok(events.open({ queues, token, signal, lastId: headers.get('last-event-id') ?? undefined }));
  },
};

const MINUTE = 60_000;
const MOST_DAYS = 400;

const series: Route = {
  method: 'GET',
  path: '/series',
  role: 'viewer',
  mayTakeLong: true,
  summary: 'Return what happened over time, in at most 360 steps. Reads no task.',
  query: {
    span: { type: 'string', description: 'a duration, from a minute to 400 days; 1h' },
    until: { type: 'string', description: 'its end: a time, or a duration back from now; now' },
    queue: { type: 'string', description: 'only this queue' },
    type: { type: 'string', description: 'only this type' },
  },
  answers: answers200('The steps, the earliest first', ref('Series')),
  async handle({ query, db, caller: { queues = null } }) {
    const { until, queue, type } = query;
    const found = await getSeries(db, {
      sinceMs: spanOf(query),
      until: until === undefined ? null : instantOf(until, 'until'),
      queue: queue === undefined ? null : checkedName('queue', queue, 'queue'),
      type: type === undefined ? null : checkedName('type', type, 'type'),
      queues,
    });
    return ok({ ...camel(found), points: found.points.map(camel) });
  },
};

function spanOf({ span = '1h' }: Readonly<Record<string, string>>): number {
  const ms = toDurationMs(span, 'span');
  if (ms >= MINUTE && ms <= MOST_DAYS * 1440 * MINUTE) return ms;
  throw badRequest('bad_option', [{ pointer: 'span', detail: 'expected from 1m to 400d' }]);
}

export const STATS_READS: readonly Route[] = [stats, live, series];
