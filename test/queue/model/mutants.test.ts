import { describe, expect, it } from 'vitest';
import { readFunctions } from '../../../src/queue/schema/schema-release.ts';
import { begin, playAll, useModel } from './database.ts';
import { randomSequence, seeded } from './sequences.ts';
import { BEGINNINGS } from './world.ts';

/** A mistake in SQL functions: every occurrence of a text replaced. */
interface Mutant {
  readonly name: string;
  /** The function's name; two, with `, ` between them, where either would make up for the other. */
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

const MUTANTS: readonly Mutant[] = [
  {
    name: 'complete does not compare lease_no',
    file: 'complete',
    from: ' and t.lease_no = o.lease_no',
    to: '',
  },
  { name: 'nor for what failed', file: 'settle_others', from: ' and t.lease_no = o.lease_no', to: '' },
  {
    name: 'a heartbeat does not compare it',
    file: 'heartbeat',
    from: ' and t.lease_no = asked.lease_no',
    to: '',
  },
  {
    name: 'a give-back does not compare it',
    file: 'give_back',
    from: ' and t.lease_no = asked.lease_no',
    to: '',
  },
  {
    name: 'complete does not compare the owner',
    file: 'complete',
    from: 't.lease_owner = _worker',
    to: 't.lease_owner is not null',
  },
  {
    name: 'nor for what failed',
    file: 'settle_others',
    from: 't.lease_owner = _worker',
    to: 't.lease_owner is not null',
  },
  {
    name: 'a heartbeat does not compare it',
    file: 'heartbeat',
    from: 't.lease_owner = _worker',
    to: 't.lease_owner is not null',
  },
  {
    name: 'a give-back does not compare it',
    file: 'give_back',
    from: 't.lease_owner = _worker',
    to: 't.lease_owner is not null',
  },
  {
    name: "a repeat is anybody's where the task waits",
    file: 'answer_unheld',
    from: 't.settled_by = _worker',
    to: 'true',
  },
  {
    name: 'where it is dead',
    file: 'answer_unheld',
    from: 'x.lease_owner = _worker',
    to: 'true',
  },
  {
    name: 'where it has finished',
    file: 'answer_unheld',
    from: 'f.lease_owner = _worker',
    to: 'true',
  },
  {
    name: 'a repeat is a loss once the task is dead',
    file: 'dead_task',
    from: 'coalesce(task.lease_owner, task.settled_by)',
    to: 'task.lease_owner',
  },
  {
    name: 'once it is cancelled',
    file: 'finished_task',
    from: 'coalesce(task.lease_owner, task.settled_by)',
    to: 'task.lease_owner',
  },
  { name: 'once it is revived', file: 'revived_task', from: 'dead.lease_owner as', to: 'null::integer as' },
  {
    name: 'a task that is lost is followed nevertheless',
    file: 'settle_followed',
    from: "where r.answer = 'recorded'",
    to: 'where true',
  },
  {
    name: 'a claim does not raise it',
    file: 'claim',
    from: 'lease_no = taskq.next_lease_no(t.lease_no, lease_step)',
    to: 'lease_no = t.lease_no',
  },
  {
    name: 'a give-back does not raise it',
    file: 'give_back',
    from: 'set lease_no = taskq.next_lease_no(t.lease_no), ',
    to: 'set ',
  },
  {
    name: 'a rescue does not raise it',
    file: 'rescue',
    from: 'set lease_no = taskq.next_lease_no(t.lease_no),',
    to: 'set',
  },
  { name: 'revive resets it', file: 'revived_task', from: 'dead.lease_no', to: '0' },
  { name: 'a rescue robs the living', file: 'lock_lost', from: 't.lease_owner <> all (alive)', to: 'true' },
  { name: 'after one lease', file: 'lock_lost', from: '_ts - 10 * l.lease', to: '_ts - l.lease' },
  {
    name: 'whoever is watched is silent',
    file: 'silent_workers',
    from: 'w.heartbeat_at not between',
    to: 'true or w.heartbeat_at not between',
  },
  {
    name: 'a rescue kills at the first loss',
    file: 'rescue',
    from: 't.losses >= coalesce(q.max_losses, 3)',
    to: 't.losses >= 1',
  },
  {
    name: 'losses have no end',
    file: 'rescue',
    from: 't.losses >= coalesce(q.max_losses, 3)',
    to: 't.losses >= 99',
  },
  { name: 'give-backs have no end', file: 'give_back', from: 't.releases >= 10', to: 't.releases >= 99' },
  { name: 'a suspect starts unmarked', file: 'claim', from: 't.losses = 0', to: 't.losses < 9' },
  {
    name: 'a suspect pays for waiting',
    file: 'rescue',
    from: '(t.losses = 0 or t.id = any (to_blame))::integer',
    to: '1',
  },
  {
    name: 'it may wait in vain for ever',
    file: 'rescue',
    from: 'least(coalesce(t.lost_ahead, 0), 2147483646) + 1',
    to: 't.lost_ahead',
  },
  {
    name: 'it stays alone after an outcome',
    file: 'settle_others',
    from: 'lost_ahead = null',
    to: 'lost_ahead = 3',
  },
  {
    name: 'a retry forgets the cancel',
    file: 'settle_others',
    from: ' or t.cancel_requested_at is not null',
    to: '',
  },
  { name: 'an expired task is claimed', file: 'may_start', from: '_expires_at > _ts', to: 'true' },
  {
    name: 'one that was started once is not',
    file: 'may_start',
    from: ' or _started_at is not null',
    to: '',
  },
  {
    name: 'a started task expires',
    file: 'expire, expire_batch',
    from: 'and t.started_at is null',
    to: '',
  },
];

const functions = await readFunctions();
const model = useModel();

describe('the replay sees a mistake in a SQL function', () => {
  it.each(MUTANTS)('$file: $name', async ({ file, from, to }) => {
    const texts = file.split(', ').map((wanted) => functions.find(({ name }) => name === wanted)!.text);
    for (const text of texts) {
      expect(text).toContain(from);
      await model.client.query(text.replaceAll(from, to));
    }
    expect(await findDifference(MANY)).toBeDefined();
    for (const text of texts) await model.client.query(text);
  });

  it('and none without one', async () => {
    expect(await findDifference(FEW)).toBeUndefined();
  });
});

/** How many sequences of each beginning, always the same: most mistakes are found by the first few, all by a hundred. */
const FEW = [4, 8, 24];
const MANY = [...FEW, 64];

async function findDifference(lengths: readonly number[]): Promise<string | undefined> {
  const random = seeded(1);
  for (const length of lengths) {
    for (const { world } of BEGINNINGS) {
      await begin(model.client, world);
      const sequences = Array.from({ length }, () => randomSequence(world, random));
      const difference = await playAll(model.client, sequences);
      if (difference !== undefined) return difference;
    }
  }
  return undefined;
}
