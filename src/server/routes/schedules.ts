import { checkedName } from '../../domain/names.ts';
import { type ListedSchedule, listSchedules } from '../../queue/inspect/list-schedules.ts';
import { AFTER, answers200, LIMIT, limitOf } from '../answers.ts';
import { camel } from '../camel.ts';
import { notFound } from '../problem.ts';
import { type Call, ok, type Route } from '../route.ts';
import { ref } from '../schema.ts';
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

/** The schedule of a path as it is listed. Throws Problem. */
export async function shownSchedule({ path, db }: Call): Promise<ListedSchedule> {
  const [schedule] = await listSchedules(db, { name: checkedName('schedule', path.schedule) });
  if (schedule === undefined) throw notFound('such schedule');
  return schedule;
}

export const SCHEDULE_READS: readonly Route[] = [list, show];
