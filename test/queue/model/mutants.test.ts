import { describe, it } from 'vitest';
import { begin, playAll, useModel } from './database.ts';
import { expectSeen, type Mutant } from './expect-seen.ts';
import { randomSequence, seeded } from './sequences.ts';
import { BEGINNINGS } from './world.ts';

const MUTANTS: readonly Mutant[] = [
  {
    name: 'complete does not compare lease_no',
    file: 'complete',
    from: ' and t.lease_no = o.lease_no',
    to: '',
    seen: [2, 24],
  },
  {
    name: 'nor for what failed',
    file: 'settle_others',
    from: ' and t.lease_no = o.lease_no',
    to: '',
    seen: [0, 14],
  },
  {
    name: 'a heartbeat does not compare it',
    file: 'heartbeat',
    from: ' and t.lease_no = asked.lease_no',
    to: '',
    seen: [1, 2],
  },
  {
    name: 'a give-back does not compare it',
    file: 'give_back',
    from: ' and t.lease_no = asked.lease_no',
    to: '',
    seen: [0, 17],
  },
  {
    name: 'complete does not compare the owner',
    file: 'complete',
    from: 't.lease_owner = _worker',
    to: 't.lease_owner is not null',
    seen: [0, 1],
  },
  {
    name: 'nor for what failed',
    file: 'settle_others',
    from: 't.lease_owner = _worker',
    to: 't.lease_owner is not null',
    seen: [0, 1],
  },
  {
    name: 'a heartbeat does not compare it',
    file: 'heartbeat',
    from: 't.lease_owner = _worker',
    to: 't.lease_owner is not null',
    seen: [0, 2],
  },
  {
    name: 'a give-back does not compare it',
    file: 'give_back',
    from: 't.lease_owner = _worker',
    to: 't.lease_owner is not null',
    seen: [0, 1],
  },
  {
    name: "a repeat is anybody's where the task waits",
    file: 'answer_unheld',
    from: 't.settled_by = _worker',
    to: 'true',
    seen: [0, 1],
  },
  {
    name: 'where it is dead',
    file: 'answer_unheld',
    from: 'x.lease_owner = _worker',
    to: 'true',
    seen: [0, 1],
  },
  {
    name: 'where it has finished',
    file: 'answer_unheld',
    from: 'f.lease_owner = _worker',
    to: 'true',
    seen: [0, 3],
  },
  {
    name: 'a repeat is a loss once the task is dead',
    file: 'dead_task',
    from: 'coalesce(task.lease_owner, task.settled_by)',
    to: 'task.lease_owner',
    seen: [1, 16],
  },
  {
    name: 'once it is cancelled',
    file: 'finished_task',
    from: 'coalesce(task.lease_owner, task.settled_by)',
    to: 'task.lease_owner',
    seen: [0, 6],
  },
  {
    name: 'once it is revived',
    file: 'revived_task',
    from: 'dead.lease_owner as',
    to: 'null::integer as',
    seen: [1, 30],
  },
  {
    name: 'a task that is lost is followed nevertheless',
    file: 'settle_followed',
    from: "where r.answer = 'recorded'",
    to: 'where true',
    seen: [0, 1],
  },
  {
    name: 'a claim does not raise it',
    file: 'claim',
    from: 'lease_no = taskq.next_lease_no(t.lease_no, lease_step)',
    to: 'lease_no = t.lease_no',
    seen: [0, 1],
  },
  {
    name: 'a give-back does not raise it',
    file: 'give_back',
    from: 'set lease_no = taskq.next_lease_no(t.lease_no), ',
    to: 'set ',
    seen: [0, 2],
  },
  {
    name: 'a rescue does not raise it',
    file: 'rescue',
    from: 'set lease_no = taskq.next_lease_no(t.lease_no),',
    to: 'set',
    seen: [0, 1],
  },
  { name: 'revive resets it', file: 'revived_task', from: 'dead.lease_no', to: '0', seen: [0, 15] },
  {
    name: 'a rescue robs the living',
    file: 'lock_lost',
    from: 't.lease_owner <> all (alive)',
    to: 'true',
    seen: [0, 4],
  },
  {
    name: 'after one lease',
    file: 'lock_lost',
    from: '_ts - 10 * l.lease',
    to: '_ts - l.lease',
    seen: [0, 4],
  },
  {
    name: 'whoever is watched is silent',
    file: 'silent_workers',
    from: 'w.heartbeat_at not between',
    to: 'true or w.heartbeat_at not between',
    seen: [0, 4],
  },
  {
    name: 'a rescue kills at the first loss',
    file: 'rescue',
    from: 't.losses >= coalesce(q.max_losses, 3)',
    to: 't.losses >= 1',
    seen: [2, 31],
  },
  {
    name: 'losses have no end',
    file: 'rescue',
    from: 't.losses >= coalesce(q.max_losses, 3)',
    to: 't.losses >= 99',
    seen: [1, 9],
  },
  {
    name: 'give-backs have no end',
    file: 'give_back',
    from: 't.releases >= 10',
    to: 't.releases >= 99',
    seen: [1, 1],
  },
  {
    name: 'a suspect starts unmarked',
    file: 'claim',
    from: 't.losses = 0',
    to: 't.losses < 9',
    seen: [2, 2],
  },
  {
    name: 'a suspect pays for waiting',
    file: 'rescue',
    from: '(t.losses = 0 or t.id = any (to_blame))::integer',
    to: '1',
    seen: [2, 2],
  },
  {
    name: 'it may wait in vain forever',
    file: 'rescue',
    from: 'least(coalesce(t.lost_ahead, 0), 2147483646) + 1',
    to: 't.lost_ahead',
    seen: [2, 2],
  },
  {
    name: 'it stays alone after an outcome',
    file: 'settle_others',
    from: 'lost_ahead = null',
    to: 'lost_ahead = 3',
    seen: [0, 6],
  },
  {
    name: 'a retry forgets the cancel',
    file: 'settle_others',
    from: ' or t.cancel_requested_at is not null',
    to: '',
    seen: [0, 2],
  },
  {
    name: 'an expired task is claimed',
    file: 'may_start',
    from: '_expires_at > _ts',
    to: 'true',
    seen: [1, 3],
  },
  {
    name: 'one that was started once is not',
    file: 'may_start',
    from: ' or _started_at is not null',
    to: '',
    seen: [1, 25],
  },
  {
    name: 'a started task expires',
    file: 'expire, expire_batch',
    from: 'and t.started_at is null',
    to: '',
    seen: [1, 73],
  },
];

const model = useModel();

describe('the replay sees a mistake in a SQL function', () => {
  it.each(MUTANTS)('$file: $name', (mutant) =>
    expectSeen(model.client, mutant, playDrawn, BEGINNINGS.length),
  );
});

async function playDrawn(beginning: number, seeds: readonly number[]): Promise<string | undefined> {
  const { world } = BEGINNINGS[beginning]!;
  await begin(model.client, world);
  return playAll(
    model.client,
    seeds.map((seed) => randomSequence(world, seeded(seed))),
  );
}
