import { eventOf } from '../../library/event-records.ts';
import { positionNow, readEvents } from '../../queue/inspect/read-events.ts';
import { answers200, LIMIT, limitOf } from '../answers.ts';
import { maySee } from '../caller.ts';
import { ok, type Route } from '../route.ts';
import { listOf, record, ref, TEXT_OR_NULL } from '../schema.ts';

const list: Route = {
  method: 'GET',
  path: '/events',
  role: 'viewer',
  mayTakeLong: true,
  needsPrimary: true,
  summary:
    'Read the ends of tasks after a position. `after` is where the next request begins, also if there are none.',
  query: {
    after: { type: 'string', description: 'a position, or `now`; default: the first event that is kept' },
    limit: LIMIT,
  },
  answers: answers200('Events in order', record({ events: listOf(ref('Event')), after: TEXT_OR_NULL })),
  async handle({ query, db, caller }) {
    const limit = limitOf(query);
    if (query.after === 'now') return ok({ events: [], after: await positionNow(db) });
    const rows = await readEvents(db, query.after ?? null, limit);
    const events = rows.filter(({ queue }) => maySee(caller, queue)).map(eventOf);
    return ok({ events, after: rows.at(-1)?.position ?? query.after ?? null });
  },
};

export const EVENT_READS: readonly Route[] = [list];
