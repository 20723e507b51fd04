import type pg from 'pg';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { useModel } from './database.ts';
import { type Meanwhile, meanwhile } from './locked.ts';
import { lookOf, type Play, play } from './play.ts';
import { seeded } from './sequences.ts';
import { actionsIn, SITUATIONS, type Situation } from './situations.ts';
import type { Action } from './step.ts';
import { FRESH } from './task.ts';
import { surroundingsOf, type World } from './world.ts';

/** A run tries a fifth of the pairs, drawn anew, and on the older server, which locks rows alike, a fifteenth. */
const share = process.env.TASKQ_FULL ? 1 : inject('systemBinDir') === undefined ? 1 / 5 : 1 / 15;
const seed = Number(process.env.TASKQ_SEED ?? Math.floor(Math.random() * 1e9));

const model = useModel();
let first: pg.Client;
let second: pg.Client;
let secondPid: number;

beforeAll(async () => {
  first = model.client;
  second = await model.session();
  // A function that waits where it must not then fails, and does not hang.
  await second.query("set lock_timeout = '5s'");
  const { rows } = await second.query<{ pid: number }>('select pg_backend_pid() as pid');
  secondPid = rows[0]!.pid;
});

describe('two sessions at one task are answered as if one came before the other', () => {
  it.each(SITUATIONS)(`the task $name (TASKQ_SEED=${seed})`, { timeout: 600_000 }, async (situation) => {
    const world = worldOf(situation);
    const actions = actionsIn(world.tasks[0]);
    const random = seeded(seed);
    let count = 0;
    for (const mine of actions) {
      for (const yours of actions) {
        if (random() > share) continue;
        const seen = meanwhile(world.tasks[0], mine, yours, surroundingsOf(world, 0));
        for (const end of seen === 'all' ? (['commit'] as const) : (['commit', 'rollback'] as const)) {
          const { found, expected } = await unhurried({ situation, world, mine, yours, seen, end });
          expect(found, JSON.stringify([mine, yours, end])).toEqual(expected);
          count++;
        }
      }
    }
    console.log(`the task ${situation.name}: ${count} interleavings`);
  });

  it('an operator who waits for a row gives up after a second', async () => {
    await start(SITUATIONS.find(({ name }) => name === 'is dead')!);
    await first.query('begin');
    await first.query('select from taskq.tasks for update');
    await first.query('select from taskq.dead_tasks for update');
    const verbs = ['cancel', 'add_dead', 'revive', 'discard'] as const;
    const began = performance.now();
    const answers = verbs.map(async (verb) => {
      const client = await model.session();
      await act(client, { verb, ids: [verb === 'cancel' ? 2 : 1] });
    });
    const codes = (await Promise.allSettled(answers)).map(
      (one) => one.status === 'rejected' && one.reason.code,
    );
    await first.query('rollback');
    expect(codes).toEqual(verbs.map(() => '55P03'));
    expect(performance.now() - began).toBeGreaterThan(900);
  });
});

interface Interleaving {
  readonly situation: Situation;
  readonly world: World;
  readonly mine: Action;
  readonly yours: Action;
  readonly seen: Meanwhile;
  readonly end: 'commit' | 'rollback';
}

/** Again where the machine stood still for the second that a verb waits for a lock. */
async function unhurried(one: Interleaving): ReturnType<typeof interleave> {
  for (let left = 5; ; left--) {
    try {
      return await interleave(one);
    } catch (error) {
      if (one.seen !== 'waits' || (error as pg.DatabaseError).code !== '55P03' || left === 0) throw error;
      await first.query('rollback');
    }
  }
}

/** Does one thing in an open transaction, another one beside it, ends the transaction, and repeats what was put off. */
async function interleave(one: Interleaving): Promise<{ found: string[]; expected: string[] }> {
  const { call: mine } = actAt(one.world, one.mine);
  const { call: yours } = actAt(one.world, one.yours);
  await start(one.situation);
  await first.query('begin');
  const found = [await act(first, mine)];
  const answer = act(second, yours);
  if (one.seen === 'waits') await Promise.race([untilItWaits(), answer.then(() => {})]);
  else found.push(await answer);
  await first.query(one.end);
  if (one.seen === 'waits') found.push(await answer);
  else if (typeof one.seen === 'object') found.push(await act(second, laterOf(one).call));
  const { rows } = await first.query<{ look: string }>('select model.look()');
  found.push(rows[0]!.look);
  return { found, expected: expectedOf(one) };
}

/** What the model says: one of the two came first. */
function expectedOf(one: Interleaving): string[] {
  const { world, mine, yours, seen, end } = one;
  const did = actAt(world, mine);
  if (seen === 'as before') {
    const alone = actAt(world, yours);
    const both = end === 'commit' ? actAt(alone.world, mine).world : alone.world;
    return [answerOf(did), answerOf(alone), lookOf(both)];
  }
  const later = laterOf(one);
  const first = typeof seen === 'object' ? [seen.answer] : [];
  return [answerOf(did), ...first, answerOf(later), lookOf(later.world)];
}

/** What the second session does when the first one's transaction has ended. */
function laterOf({ world, mine, yours, end }: Interleaving): Play {
  return actAt(end === 'commit' ? actAt(world, mine).world : world, yours);
}

const actAt = (world: World, action: Action): Play => play(world, { at: 0, action });

const answerOf = ({ expected }: Play) => expected.split(' => ')[0]!;

async function act(client: pg.Client, call: object): Promise<string> {
  const { rows } = await client.query<{ act: string | null }>('select model.act($1)', [JSON.stringify(call)]);
  return rows[0]!.act ?? '';
}

async function untilItWaits(): Promise<void> {
  for (const end = performance.now() + 10_000; performance.now() < end; ) {
    const { rows } = await first.query('select from pg_locks where pid = $1 and not granted', [secondPid]);
    if (rows.length > 0) return;
  }
  throw new Error('the second session does not wait');
}

function worldOf({ from, past }: Situation): World {
  const root: World = { tasks: [from ?? FRESH, FRESH], silent: [], sharedKey: false };
  return playsOf(root, past).at(-1)?.world ?? root;
}

function playsOf(root: World, past: Situation['past']): Play[] {
  const plays: Play[] = [];
  for (const action of past) {
    const world = plays.at(-1)?.world ?? root;
    plays.push(action === 'silence' ? play(world, { at: 'worker', worker: 1 }) : actAt(world, action));
  }
  return plays;
}

async function start({ from, past }: Situation): Promise<void> {
  const tasks = [from ?? FRESH, FRESH] as const;
  const calls = playsOf({ tasks, silent: [], sharedKey: false }, past).map(({ call }) => call);
  await first.query('select model.start($1, false, $2)', [JSON.stringify(tasks), JSON.stringify(calls)]);
}
