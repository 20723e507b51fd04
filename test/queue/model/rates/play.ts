import type { Random } from '../../random.ts';
import { enqueue as enqueueTask } from '../../rows.ts';
import type { Session } from '../../session.ts';
import { type Claimed, outcome, type PlainWorker } from '../../worker.ts';
import {
  attend,
  claim,
  end,
  enqueue,
  giveBack,
  inState,
  pass,
  type Settings,
  START,
  type World,
} from './step.ts';

const EVENTS = 40;

/**
 * Plays events at random. Returns what happened up to where claims first brought something else, or gave other tasks a
 * slot, than the model says; undefined: nowhere.
 */
export async function playAtRandom(
  admin: Session,
  worker: PlainWorker,
  random: Random,
): Promise<string | undefined> {
  for (const table of ['tasks', 'asks', 'group_rates', 'groups'])
    await admin.rows(`delete from taskq.${table}`);
  const leases = new Map<string, Claimed>();
  const happened: string[] = [];
  let world: World = START;
  const set = async (settings: Settings): Promise<void> => {
    happened.push(`set ${JSON.stringify(settings)}`);
    await admin.rows(
      "select taskq.set_group('default', 'ann', $1)",
      JSON.stringify({ rate: '1/1h', ...settings }),
    );
    world = { ...world, ...settings };
  };
  await set({ limit: START.limit, burst: START.burst });

  const acts: readonly (() => Promise<void>)[] = [
    async () => {
      world = enqueue(world, await enqueueTask(admin, { group: 'ann' }));
      happened.push(`enqueue ${world.tasks.at(-1)!.id}`);
    },
    async () => {
      const running = inState(world, 'runs');
      if (running.length === 0) return;
      const { id } = random.pick(running);
      await worker.settle(outcome(leases.get(id)!, 'completed'));
      happened.push(`complete ${id}`);
      world = end(world, id);
    },
    async () => {
      const running = inState(world, 'runs');
      if (running.length === 0) return;
      const { id } = random.pick(running);
      await worker.giveBack([leases.get(id)!], true);
      happened.push(`give back ${id}`);
      world = giveBack(world, id);
    },
    // Never less than what is used up, or waits for a worker: how that is cut down is for another test.
    () => {
      const burst = Math.max(world.used, inState(world, 'has a slot').length, 1) + random.below(2);
      return set({ burst, limit: random.pick([null, 1, 2, 3]) });
    },
    async () => {
      const isPaused = !world.isPaused;
      await admin.rows(`select taskq.${isPaused ? 'pause' : 'resume'}_group('default', 'ann')`);
      happened.push(isPaused ? 'pause' : 'resume');
      world = { ...world, isPaused };
    },
    async () => {
      const hours = 1 + random.below(2);
      for (const [table, column] of [
        ['group_rates', 'used_to'],
        ['asks', 'due_at'],
      ] as const)
        await admin.rows(`update taskq.${table} set ${column} = ${column} - $1 * interval '1 hour'`, hours);
      happened.push(`${hours} hours pass`);
      world = pass(world, hours);
    },
  ];
  /** Returns whether the claim did what it should. Nothing of the type `other` waits: it only gives out slots. */
  const claims = async (size: number, type: 'work' | 'other'): Promise<boolean> => {
    // A second or two pass: what asks again soon has asked.
    await admin.rows(
      "update taskq.asks set due_at = clock_timestamp() where due_at < clock_timestamp() + interval '1 minute'",
    );
    const tasks = await worker.claim({ start: size, types: [type] });
    world = attend(world);
    const ready = inState(world, 'has a slot').map(({ id }) => id);
    happened.push(`claim ${size} of ${type}: ${tasks.map(({ id }) => id).join()} of ${ready.join()}`);
    for (const task of tasks) leases.set(task.id, task);
    world = claim(
      world,
      tasks.map(({ id }) => id),
    );
    const left = await admin.rows<{ id: string }>(
      "select id from taskq.tasks where gate = 'h' and lease_owner is null order by id",
    );
    happened.push(`left with a slot: ${left.map(({ id }) => id).join()}`);
    return (
      tasks.length === (type === 'other' ? 0 : Math.min(size, ready.length)) &&
      left.map(({ id }) => id).join() ===
        inState(world, 'has a slot')
          .map(({ id }) => id)
          .join()
    );
  };
  const often = [0, 0, 0, 0, 1, 1, 2, 3, 4, 5, 5].map((place) => acts[place]!);
  for (let event = 0; event < EVENTS; event++) {
    if (random.below(2) === 0) await random.pick(often)();
    else if (!(await claims(random.pick([1, 10]), random.pick(['work', 'work', 'other']))))
      return happened.join('\n');
  }
  return undefined;
}
