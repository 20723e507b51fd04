import { describe, expect, test } from 'vitest';
import { enqueue } from './rows.ts';
import { useDatabase } from './session.ts';
import { type Claimed, outcome, type PlainWorker, registerWorker } from './worker.ts';

const queue = useDatabase();

const KINDS: Readonly<Record<string, { readonly settings?: object; readonly grouped: boolean }>> = {
  'outside any group': { grouped: false },
  'in a strict group': { grouped: true, settings: { group_limit: 1 } },
  'in a relaxed group': { grouped: true, settings: { group_limit: 1, group_order: 'relaxed' } },
  'in a group that stops at dead letters': {
    grouped: true,
    settings: { group_limit: 1, group_on_dead: 'hold' },
  },
};

/** A task with a key, which a worker has, and one without that comes after it, in the same group if there is one. */
class Scene {
  readonly ran: { id: string; payload: unknown }[] = [];
  #held: Claimed[] = [];
  #changes = 0;

  private constructor(
    readonly me: PlainWorker,
    readonly options: object,
    readonly keyed: string,
    readonly plain: string,
  ) {}

  static async begin(me: PlainWorker, options: object): Promise<Scene> {
    const keyed = await enqueue(queue.admin, { ...options, key: 'k' }, { n: 0 });
    const plain = await enqueue(queue.admin, { ...options }, 'plain');
    const scene = new Scene(me, options, keyed, plain);
    await scene.claim(1);
    return scene;
  }

  get last(): object {
    return { n: this.#changes };
  }

  async claim(start: number): Promise<void> {
    const tasks = await this.me.claim({ start });
    this.ran.push(...tasks.map(({ id, payload }) => ({ id, payload })));
    this.#held.push(...tasks);
    if ('group' in this.options) expect(this.#held.length).toBeLessThanOrEqual(1);
  }

  async settle(...how: [string, object?]): Promise<void> {
    if (this.#held.length === 0) await this.claim(1);
    const tasks = this.#held;
    this.#held = [];
    if (tasks.length > 0) await this.me.settle(...tasks.map((task) => outcome(task, how[0], how[1])));
  }

  change(policy: string): Promise<unknown> {
    const options = { ...this.options, key: 'k', on_held: policy };
    return enqueue(queue.admin, options, { n: ++this.#changes });
  }

  verb(name: string): Promise<unknown> {
    return queue.admin.rows(`select taskq.${name}($1)`, [this.keyed]);
  }

  async expire(): Promise<void> {
    await queue.admin.rows("update taskq.tasks set expires_at = '2020-01-01' where id = $1", this.keyed);
    await queue.admin.rows('select taskq.expire(10)');
  }

  async giveBack(): Promise<void> {
    await this.me.giveBack(this.#held.splice(0));
  }

  /** Starts and completes all that is left, as if every wait were over, and returns the payloads that were seen. */
  async drain(): Promise<unknown[]> {
    if (this.#held.length > 0) await this.settle('completed');
    const dead = await queue.admin.rows<{ id: string; payload: unknown }>(
      'select id, payload from taskq.dead_tasks',
    );
    await queue.admin.rows(
      'select taskq.discard($1)',
      dead.map(({ id }) => id),
    );
    do {
      if (this.#held.length > 0) await this.settle('completed');
      await queue.admin.rows('select taskq.expire(10)');
      await queue.admin.rows(
        'select taskq.retry(array(select id from taskq.tasks where lease_owner is null))',
      );
      await this.claim(10);
    } while (this.#held.length > 0);
    const ended = await queue.admin.rows<{ payload: unknown }>('select payload from taskq.all_tasks');
    return [...dead, ...this.ran, ...ended].map(({ payload }) => payload);
  }
}

const VERBS: Readonly<Record<string, (scene: Scene) => Promise<unknown>>> = {
  replace: (scene) => scene.change('replace'),
  preserve: (scene) => scene.change('preserve'),
  cancel: (scene) => scene.verb('cancel'),
  retry: (scene) => scene.verb('retry'),
  revive: (scene) => scene.verb('revive'),
  expire: (scene) => scene.expire(),
  snooze: (scene) => scene.settle('snoozed', { delay_ms: 60_000 }),
  fail: (scene) => scene.settle('failed', { delay_ms: 60_000, error: { message: 'no' } }),
  die: (scene) => scene.settle('dead', { reason: 'no' }),
  'give back': (scene) => scene.giveBack(),
};

describe.each(Object.entries(KINDS))('a task %s', (_, { settings, grouped }) => {
  test.each(Object.keys(VERBS))(
    'that meets %s, and then any verb, is not lost, nor is the next one',
    async (first) => {
      if (settings !== undefined)
        await queue.admin.rows("select taskq.set_queue('default', $1)", JSON.stringify(settings));
      const me = await registerWorker(queue.admin);
      for (const second of Object.keys(VERBS)) {
        const steps = [first, second];
        const scene = await Scene.begin(me, grouped ? { group: steps.join(' ') } : {});
        for (const step of steps) await VERBS[step]!(scene);
        const seen = await scene.drain();
        const left = await queue.admin.rows('select id, status, gate from taskq.tasks');
        expect({ steps, left }).toEqual({ steps, left: [] });
        expect(seen, steps.join(' ')).toContainEqual(scene.last);
        expect(
          scene.ran.map(({ id }) => id),
          steps.join(' '),
        ).toContain(scene.plain);
      }
    },
  );
});
