import { checkedName } from '../../domain/names.ts';
import { parseExpression } from '../../domain/schedule/expression.ts';
import { jitterOf } from '../../domain/schedule/jitter.ts';
import { localText, nextTicks } from '../../domain/schedule/next-ticks.ts';
import { checkedZone } from '../../domain/schedule/zone.ts';
import { type ListedSchedule, listSchedules } from '../../queue/inspect/list-schedules.ts';
import { AFTER, answers200, countOf, LIMIT, limitOf } from '../answers.ts';
import { camel } from '../camel.ts';
import { notFound } from '../problem.ts';
import { type Call, ok, type Route } from '../route.ts';
import { listOf, record, ref, TEXT, TIME } from '../schema.ts';
import { pageOf } from '../schemas.ts';

const list: Route = {
  method: 'GET',
  path: '/schedules',
  role: 'viewer',
  queues: 'all',
  summary: 'List the schedules by name.',
  query: { limit: LIMIT, after: AFTER },
  answers: answers200('A page', pageOf('schedules', 'Schedule')),
  async handle({ query, db }) {
    const limit = limitOf(query);
    const found = await listSchedules(db, {
      limit,
      ...(query.after !== undefined && { after: query.after }),
    });
    return ok({ schedules: found.map(camel), after: found.length < limit ? null : found.at(-1)!.name });
  },
};

const show: Route = {
  method: 'GET',
  path: '/schedules/{schedule}',
  role: 'viewer',
  queues: 'all',
  summary: 'Show a schedule.',
  answers: answers200('The schedule', ref('Schedule')),
  async handle(call) {
    return ok(camel(await shownSchedule(call)));
  },
};

const MOST_TICKS = 100;

const preview: Route = {
  method: 'GET',
  path: '/schedules/{schedule}/preview',
  role: 'viewer',
  queues: 'all',
  summary:
    'Return the next ticks of a schedule; with `expression`, those that it would have, even a new one.',
  query: {
    count: { type: 'integer', description: `the most ticks, 1 to ${MOST_TICKS}; 5` },
    expression: { type: 'string', description: 'instead of that of the schedule' },
    tz: { type: 'string', description: 'time zone of `expression`; UTC' },
  },
  answers: answers200(
    'The ticks, the earliest first; `local` is the time there, and the task is due at `due`',
    record({
      ...{ expression: TEXT, tz: TEXT },
      ticks: listOf(record({ tick: TIME, local: TEXT, due: TIME })),
    }),
  ),
  async handle(call) {
    const { expression, tz, anchor, dueOf } = await tickingOf(call);
    const count = countOf('count', call.query.count ?? '5', MOST_TICKS);
    const ticks = nextTicks(expression, tz, { from: Date.now(), count, anchor }).map((at) => ({
      tick: new Date(at).toISOString(),
      local: localText(tz, at),
      due: new Date(dueOf(at)).toISOString(),
    }));
    return ok({ expression: expression.text, tz, ticks });
  },
};

/** When a schedule fires, or would fire. Throws Problem, TaskqError. */
async function tickingOf(call: Call) {
  const { expression, tz = 'UTC' } = call.query;
  if (expression !== undefined)
    return { expression: parseExpression(expression), tz: checkedZone(tz), dueOf: (tick: number) => tick };
  const found = await shownSchedule(call);
  const { name, next_at: next, jitter_ms: jitterMs } = found;
  return {
    expression: parseExpression(found.expression),
    tz: found.tz,
    anchor: next === null || next === 'infinity' ? undefined : Date.parse(next),
    dueOf: (tick: number) => tick + jitterOf(name, tick, jitterMs),
  };
}

/** The schedule of a path as it is listed. Throws Problem. */
export async function shownSchedule({ path, db }: Call): Promise<ListedSchedule> {
  const [schedule] = await listSchedules(db, { name: checkedName('schedule', path.schedule) });
  if (schedule === undefined) throw notFound('such schedule');
  return schedule;
}

export const SCHEDULE_READS: readonly Route[] = [list, show, preview];
