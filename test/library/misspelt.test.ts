import { TaskQueue } from 'taskq';
import { afterEach, expect, test } from 'vitest';
import { useDatabase } from '../queue/session.ts';

const database = useDatabase();
const opened: TaskQueue[] = [];

afterEach(async () => {
  await Promise.all(opened.splice(0).map((queue) => queue.close()));
});

/** Every call takes options, of which the one given is misspelt; in JavaScript, no compiler says so. */
const CALLS: Readonly<Record<string, (queue: TaskQueue, id: string, misspelt: never) => unknown>> = {
  cancel: (queue, id, misspelt) => queue.cancel(id, misspelt),
  retry: (queue, id, misspelt) => queue.retry(id, misspelt),
  edit: (queue, id, misspelt) => queue.edit(id, { priority: 1 }, misspelt),
  purge: (queue, id, misspelt) => queue.purge(id, misspelt),
  discard: (queue, id, misspelt) => queue.discard(id, misspelt),
  revive: (queue, id, misspelt) => queue.revive(id, misspelt),
  rerun: (queue, id, misspelt) => queue.rerun(id, misspelt),
  wait: (queue, id, misspelt) => queue.wait(id, misspelt),
  stats: (queue, _, misspelt) => queue.stats(misspelt),
  metrics: (queue, _, misspelt) => queue.metrics(misspelt),
  events: async (queue, _, misspelt) => queue.events(misspelt),
  audit: async (queue, _, misspelt) => queue.audit(misspelt)[Symbol.asyncIterator]().next(),
  listKeys: (queue, _, misspelt) => queue.listKeys(misspelt)[Symbol.asyncIterator]().next(),
  releaseKey: (queue, _, misspelt) => queue.releaseKey({ key: 'k' }, misspelt),
  deadGroups: (queue, _, misspelt) => queue.deadGroups(misspelt),
  enqueue: (queue, _, misspelt) => queue.enqueue('work', {}, misspelt),
  enqueueMany: (queue, _, misspelt) => queue.enqueueMany([], misspelt),
  pauseQueue: (queue, _, misspelt) => queue.pauseQueue('q', misspelt),
  resumeQueue: (queue, _, misspelt) => queue.resumeQueue('q', misspelt),
  setQueue: (queue, _, misspelt) => queue.setQueue('q', { maxRunning: 1 }, misspelt),
  setType: (queue, _, misspelt) => queue.setType('work', { priority: 1 }, misspelt),
  resumeType: (queue, _, misspelt) => queue.resumeType('work', misspelt),
  setGroup: (queue, _, misspelt) => queue.setGroup('q', 'g', { limit: 1 }, misspelt),
  pauseGroup: (queue, _, misspelt) => queue.pauseGroup('q', 'g', misspelt),
  resumeGroup: (queue, _, misspelt) => queue.resumeGroup('q', 'g', misspelt),
  'list().page': (queue, _, misspelt) => queue.list().page(misspelt),
  'list().cancel': (queue, _, misspelt) => queue.list().cancel(Object.assign({ all: true }, misspelt)),
  'operations.start': (queue, id, misspelt) =>
    queue.operations.start({ verb: 'cancel', filter: { ids: [id] }, ...(misspelt as object) }),
  'operations.dryRun': (queue, id, misspelt) =>
    queue.operations.dryRun({ verb: 'cancel', filter: { ids: [id] }, ...(misspelt as object) }),
  'operations.list': async (queue, _, misspelt) => queue.operations.list(misspelt),
  'operations.stop': (queue, _, misspelt) => queue.operations.stop('1', misspelt),
  'schedules.set': (queue, _, misspelt) =>
    queue.schedules.set('s', Object.assign({ expression: '@daily', type: 'work' }, misspelt)),
  'schedules.pause': (queue, _, misspelt) => queue.schedules.pause('s', misspelt),
  'schedules.resume': (queue, _, misspelt) => queue.schedules.resume('s', misspelt),
  'schedules.remove': (queue, _, misspelt) => queue.schedules.remove('s', misspelt),
  'schedules.run': (queue, _, misspelt) => queue.schedules.run('s', misspelt),
  'schedules.preview': (queue, _, misspelt) => queue.schedules.preview('@daily', misspelt),
  'workflow.start': (queue, _, misspelt) => queue.workflow('w').task('a', 'work').start(misspelt),
  workflow: async (queue, _, misspelt) => queue.workflow('w', misspelt),
  'workflows.close': (queue, _, misspelt) => queue.workflows.close('1', misspelt),
  'workflows.list': async (queue, _, misspelt) => queue.workflows.list(misspelt),
  'workflows.cancel': (queue, _, misspelt) => queue.workflows.cancel('1', misspelt),
  'workflows.retry': (queue, _, misspelt) => queue.workflows.retry('1', misspelt),
  'workflows.wait': (queue, _, misspelt) => queue.workflows.wait('1', misspelt),
};

test.each(Object.keys(CALLS))(
  '%s refuses an option that it does not know, and does nothing',
  async (name) => {
    const queue = new TaskQueue({ databaseUrl: database.url });
    opened.push(queue);
    const { id } = await queue.enqueue('work', {}, { delay: '1h' });
    const call = async () => CALLS[name]!(queue, id, { dryrun: true } as never);
    await expect(call()).rejects.toMatchObject({
      code: 'bad_option',
      message: expect.stringMatching(/unknown (option|filter) "dryrun"/),
    });
    expect(await database.admin.rows('select status::text, priority from taskq.all_tasks')).toEqual([
      { status: 'pending', priority: 2 },
    ]);
    expect(await database.admin.value('select count(*)::int from taskq.audit')).toBe(0);
  },
);
