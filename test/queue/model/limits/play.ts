import type { Random } from '../../random.ts';
import { enqueue as enqueueTask } from '../../rows.ts';
import type { Session } from '../../session.ts';
import { type Claimed, outcome, type PlainWorker } from '../../worker.ts';
import {
  claim,
  claimable,
  end,
  enqueue,
  giveBack,
  isLimited,
  pass,
  type Settings,
  START,
  type Task,
  type World,
} from './step.ts';

/** Who takes part, each with a connection of its own. */
export interface Cast {
  readonly admin: Session;
  readonly workers: readonly [PlainWorker, PlainWorker];
}

const EVENTS = 30;

/**
 * Plays events at random. Returns what happened up to where claims first brought something else than the model says;
 * undefined: nowhere.
 */
export async function playAtRandom(cast: Cast, random: Random): Promise<string | undefined> {
  await cast.admin.rows('delete from taskq.tasks');
  await cast.admin.rows('delete from taskq.queue_limits');
  await cast.admin.rows('delete from taskq.limit_states');
  await cast.admin.rows('delete from taskq.queues');
  const leases = new Map<string, { readonly by: PlainWorker; readonly task: Claimed }>();
  const happened: string[] = [];
  let world = START;

  /** Returns whether the claim brought what it should; the tasks are held from now on. */
  const claims = async (by: PlainWorker, expected: number | null, slots = someSlots()): Promise<boolean> => {
    const tasks = await by.claim(slots);
    for (const task of tasks) leases.set(task.id, { by, task });
    const most = expected ?? claimable(world, slots);
    const first = world.waiting.slice(0, most).map(({ priority }) => priority);
    happened.push(
      `claim ${JSON.stringify(slots)}: ${tasks.length} of ${most}, ${JSON.stringify(settingsOf(world))}`,
    );
    world = claim(
      world,
      tasks.map(({ id }) => id),
    );
    return (
      tasks.length === most &&
      tasks
        .map(({ priority }) => priority)
        .toSorted()
        .join() === first.join()
    );
  };
  const someSlots = () => ({ start: random.below(4), ahead: random.below(2) });
  const ended = async (task: Task, how: string): Promise<void> => {
    const { by, task: lease } = leases.get(task.id)!;
    happened.push(`${how} ${task.id}`);
    if (how === 'give back') await by.giveBack([lease]);
    else await by.settle(outcome(lease, how, how === 'failed' ? { delay_ms: 3_600_000 } : {}));
    world = how === 'give back' ? giveBack(world, task) : end(world, task);
  };

  const acts: readonly (() => Promise<boolean | undefined>)[] = [
    async () => {
      const priority = 1 + random.below(2);
      const id = await enqueueTask(cast.admin, { priority });
      world = enqueue(world, { id, priority });
      return true;
    },
    () => claims(random.pick(cast.workers), null),
    async () => {
      if (world.held.length > 0)
        await ended(random.pick(world.held), random.pick(['completed', 'failed', 'give back']));
      return true;
    },
    async () => {
      const settings = someSettings(world, random);
      happened.push(`set ${JSON.stringify(settings)}`);
      await setLimits(cast.admin, settings);
      world = { ...world, ...settings };
      return true;
    },
    // In a transaction that stays open, and is rolled back: until then the limits are what they were.
    async () => {
      const settings = someSettings(world, random);
      happened.push(`set and roll back ${JSON.stringify(settings)}`);
      await cast.admin.rows('begin');
      await setLimits(cast.admin, settings);
      const agrees = await claims(random.pick(cast.workers), null);
      await cast.admin.rows('rollback');
      return agrees;
    },
    // A claim that stays open: another one gets nothing of a limited queue.
    async () => {
      const [me, you] = random.some(cast.workers, 2).concat(cast.workers) as [PlainWorker, PlainWorker];
      if (me === you) return true;
      const before = world;
      const isKept = random.below(2) === 0;
      happened.push(`open, ${isKept ? 'to be kept' : 'to be rolled back'}`);
      await me.session.rows('begin');
      const slots = someSlots();
      let agrees = await claims(me, null, slots);
      const mine = world.held.filter((task) => !before.held.includes(task));
      const hasLimit = isLimited(world) && slots.start + slots.ahead > 0;
      agrees &&= await claims(you, hasLimit ? 0 : null);
      await me.session.rows(isKept ? 'commit' : 'rollback');
      if (isKept) return agrees;
      for (const task of mine) world = giveBack(world, task);
      if (world.burst !== null) world = { ...world, used: world.used - mine.length };
      return agrees;
    },
    // By its id a task passes the limits, which count it.
    async () => {
      const task = world.waiting[0];
      if (!task || (world.burst !== null && world.used + 1 > world.burst)) return true;
      const by = random.pick(cast.workers);
      const tasks = await by.session.rows<Claimed>(
        'select * from taskq.claim_one($1, $2, 30000)',
        by.id,
        task.id,
      );
      happened.push(`claim ${task.id} by its id`);
      leases.set(task.id, { by, task: tasks[0]! });
      world = claim(world, [task.id]);
      return true;
    },
    async () => {
      const hours = 1 + random.below(2);
      happened.push(`${hours} hours pass`);
      await cast.admin.rows(
        "update taskq.limit_states set used_to = used_to - $1 * interval '1 hour'",
        hours,
      );
      world = pass(world, hours);
      return true;
    },
  ];
  const often = [0, 0, 0, 1, 1, 1, 2, 2, 3, 3, 4, 5, 6, 7].map((place) => acts[place]!);
  for (let event = 0; event < EVENTS; event++) if (!(await random.pick(often)())) return happened.join('\n');
  return undefined;
}

/** Never less than what is used up of a rate: how far that is cut down is for another test. */
function someSettings({ used }: World, random: Random): Settings {
  return {
    maxRunning: random.pick([null, 1, 2, 4]),
    burst: random.pick([null, Math.max(1, Math.ceil(used)), Math.max(3, Math.ceil(used))]),
  };
}

const settingsOf = ({ maxRunning, burst, used, held }: World) => ({
  maxRunning,
  burst,
  used,
  held: held.length,
});

async function setLimits(session: Session, { maxRunning, burst }: Settings): Promise<void> {
  const settings = { max_running: maxRunning, rate: burst === null ? null : '1/1h', burst };
  await session.rows("select taskq.set_queue('default', $1)", JSON.stringify(settings));
}
