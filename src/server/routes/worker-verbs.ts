import { toDurationMs } from '../../lib/duration.ts';
import { pauseWorker, resumeWorker } from '../../queue/operate/pause-worker.ts';
import { setWorker, type WorkerSettings } from '../../queue/operate/set-worker.ts';
import { stopWorker } from '../../queue/operate/stop-worker.ts';
import { answers200, wrongState } from '../answers.ts';
import { camel } from '../camel.ts';
import { type Call, ok, type Route } from '../route.ts';
import { DURATION, FLAG, input, record, ref, TEXT, WHOLE } from '../schema.ts';
import { shownWorker } from './workers.ts';

const pause: Route = {
  method: 'POST',
  path: '/workers/{worker}/pause',
  role: 'operator',
  queues: 'all',
  summary: 'Let a worker claim no more tasks, until it is resumed; those that run continue.',
  body: input({}),
  answers: answers200('Whether it was not paused before', record({ paused: FLAG })),
  async handle(call) {
    return ok({ paused: await pauseWorker(call.db, await liveId(call), call.acting) });
  },
};

const resume: Route = {
  method: 'POST',
  path: '/workers/{worker}/resume',
  role: 'operator',
  queues: 'all',
  summary: 'Let a paused worker claim again.',
  body: input({}),
  answers: answers200('Whether it was paused', record({ resumed: FLAG })),
  async handle(call) {
    return ok({ resumed: await resumeWorker(call.db, await liveId(call), call.acting) });
  },
};

const stop: Route = {
  method: 'POST',
  path: '/workers/{worker}/stop',
  role: 'operator',
  queues: 'all',
  summary: 'Ask a worker to finish its running tasks and end.',
  body: input({}),
  answers: answers200('Whether it was asked', record({ asked: FLAG })),
  async handle(call) {
    return ok({ asked: await stopWorker(call.db, await liveId(call), call.acting) });
  },
};

const set: Route = {
  method: 'PATCH',
  path: '/workers/{worker}',
  role: 'admin',
  queues: 'all',
  summary: 'Change settings of a running worker. `queues` null: every queue.',
  body: input({
    concurrency: WHOLE,
    poll: DURATION,
    lease: DURATION,
    batch: { type: ['integer', 'string'] },
    queues: { type: ['array', 'null'], items: TEXT },
  }),
  answers: answers200('The worker', ref('Worker')),
  async handle(call) {
    const { poll, lease, ...same } = call.body;
    const settings = {
      ...same,
      ...(poll !== undefined && { poll_ms: toDurationMs(poll, 'poll') }),
      ...(lease !== undefined && { lease_ms: toDurationMs(lease, 'lease') }),
    } as WorkerSettings;
    await setWorker(call.db, await liveId(call), settings, call.acting);
    return ok(camel(await shownWorker(call)));
  },
};

/** The id of the worker of a path. Throws Problem: it has ended. */
async function liveId(call: Call): Promise<string> {
  const { id, status } = await shownWorker(call);
  if (status === 'stopped' || status === 'lost') throw wrongState('the worker', status);
  return id;
}

export const WORKER_VERBS: readonly Route[] = [set, pause, resume, stop];
