import { enqueue } from './rows.ts';
import { useDatabase } from './session.ts';
import { type Claimed, outcome, type PlainWorker, registerWorker } from './worker.ts';

/** A database for each test, and what tests of groups do in it. */
export function useGroups() {
  const queue = useDatabase();
  return {
    queue,

    inGroup: (group: string, options: object = {}) => enqueue(queue.admin, { group, ...options }),

    setQueue: (settings: object) =>
      queue.admin.rows("select taskq.set_queue('default', $1)", JSON.stringify(settings)),

    worker: async () => registerWorker(await queue.session()),

    /** The ids of what a claim of up to ten tasks takes. */
    claimed: async (by: PlainWorker) => (await by.claim({ start: 10 })).map(({ id }) => id),

    complete: (by: PlainWorker, tasks: readonly Claimed[]) =>
      by.settle(...tasks.map((task) => outcome(task, 'completed'))),
  };
}
