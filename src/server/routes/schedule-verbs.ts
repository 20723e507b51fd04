import { checkedName } from '../../domain/names.ts';
import { exactPayload } from '../../domain/payload.ts';
import { type NewSchedule, newScheduleOf } from '../../domain/schedule/definition.ts';
import {
  pauseSchedule,
  removeSchedule,
  resumeSchedule,
  runSchedule,
  setSchedule,
} from '../../queue/operate/schedules.ts';
import { answers200 } from '../answers.ts';
import { camel } from '../camel.ts';
import { notFound } from '../problem.ts';
import { type Call, ok, type Route } from '../route.ts';
import { ANY, DURATION, FLAG, input, record, ref, TEXT, TEXT_OR_NULL } from '../schema.ts';
import { ENQUEUE_OPTIONS, ID } from '../schemas.ts';
import { shownSchedule } from './schedules.ts';

const { at: _, ...TASK_OPTIONS } = ENQUEUE_OPTIONS;

const set: Route = {
  method: 'PUT',
  path: '/schedules/{schedule}',
  role: 'admin',
  queues: 'all',
  summary: 'Create a schedule (201), or replace what it enqueues and when; a pause stays.',
  query: {
    allowUnknown: {
      type: 'string',
      enum: ['true'],
      description: 'accept a type that no worker has registered',
    },
  },
  body: input(
    {
      expression: TEXT,
      type: TEXT,
      payload: ANY,
      tz: TEXT,
      missed: TEXT,
      overlap: TEXT,
      jitter: DURATION,
      ...TASK_OPTIONS,
    },
    ['expression', 'type'],
  ),
  answers: {
    ...answers200('It is replaced', ref('Schedule')),
    201: { description: 'It is new', schema: ref('Schedule') },
  },
  async handle(call) {
    const { db, acting, query } = call;
    const { created } = await setSchedule(db, scheduleOf(call), {
      ...acting,
      allowUnknown: query.allowUnknown === 'true',
    });
    return { status: created ? 201 : 200, body: camel(await shownSchedule(call)) };
  },
};

const pause: Route = {
  method: 'POST',
  path: '/schedules/{schedule}/pause',
  role: 'operator',
  queues: 'all',
  summary: 'Pause a schedule: its ticks until it is resumed never fire.',
  body: input({}),
  answers: answers200('The schedule', ref('Schedule')),
  async handle(call) {
    if (!(await pauseSchedule(call.db, nameOf(call), call.acting))) throw notFound('such schedule');
    return ok(camel(await shownSchedule(call)));
  },
};

const resume: Route = {
  method: 'POST',
  path: '/schedules/{schedule}/resume',
  role: 'operator',
  queues: 'all',
  summary: 'Resume a paused schedule from its next tick on.',
  body: input({}),
  answers: answers200('Whether it was paused', record({ resumed: FLAG })),
  async handle(call) {
    await shownSchedule(call);
    return ok({ resumed: await resumeSchedule(call.db, nameOf(call), call.acting) });
  },
};

const run: Route = {
  method: 'POST',
  path: '/schedules/{schedule}/run',
  role: 'operator',
  queues: 'all',
  summary:
    'Enqueue the task of a schedule now. 200: that of an earlier tick is live, and the schedule allows no other.',
  body: input({}),
  answers: {
    200: { description: 'The live task', schema: record({ id: ID, created: FLAG, error: TEXT_OR_NULL }) },
    201: { description: 'The new task', schema: record({ id: ID, created: FLAG, error: TEXT_OR_NULL }) },
  },
  async handle(call) {
    const ran = await runSchedule(call.db, nameOf(call), call.acting);
    if (ran === undefined) throw notFound('such schedule');
    return { status: ran.created ? 201 : 200, body: ran };
  },
};

const remove: Route = {
  method: 'DELETE',
  path: '/schedules/{schedule}',
  role: 'admin',
  queues: 'all',
  summary: 'Remove a schedule; its tasks stay.',
  answers: answers200('It is removed', record({ removed: FLAG })),
  async handle(call) {
    if (!(await removeSchedule(call.db, nameOf(call), call.acting))) throw notFound('such schedule');
    return ok({ removed: true });
  },
};

/** The schedule of a body, whose payload has exact numbers. Throws TaskqError. */
function scheduleOf(call: Call): NewSchedule {
  const { payload = {}, ...given } = call.body;
  const schedule = newScheduleOf(nameOf(call), given);
  return { ...schedule, payload: exactPayload(`schedule ${schedule.name}`, payload).text };
}

function nameOf({ path }: Call): string {
  return checkedName('schedule', path.schedule);
}

export const SCHEDULE_VERBS: readonly Route[] = [set, pause, resume, run, remove];
