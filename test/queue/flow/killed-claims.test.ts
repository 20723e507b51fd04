import { beforeAll, expect, test } from 'vitest';
import { addStops } from '../../support/stops.ts';
import { seeded } from '../model/sequences.ts';
import type { Session } from '../session.ts';
import { workerOf } from '../worker.ts';
import { runWorkflow } from './started.ts';
import { type ClaimedStep, claimSteps, settleAll, useWorkflows } from './workflows.ts';

const { queue, worker, statuses, workflow, expectSettled } = useWorkflows();

/** The death of `y` cancels two generations, and the end of `x` releases steps, of which one waits for a slot. */
const STEPS = [
  { step: 'x' },
  { step: 'y' },
  { step: 'next', after: ['x'] },
  { step: 'grouped', after: ['x'], group: 'g' },
  { step: 'both', after: [{ step: 'x' }, { step: 'y', on_death: 'continue' }] },
  { step: 'cancelled', after: ['y'] },
  { step: 'too', after: ['x', 'cancelled'] },
];
const WORKFLOW = {
  ...{ on_failing: { type: 'other' }, on_step: { type: 'other' }, on_end: { type: 'other' } },
};

beforeAll(async () => {
  await queue.admin.client.query(`
    create schema witness;
    create sequence witness.passed;
    create sequence witness.stop_at minvalue 0;
    create table witness.places (nth bigint, place text);
    create function witness.stop(_place text) returns void language plpgsql as $$
    begin
      insert into witness.places values (nextval('witness.passed'), _place);
      if lastval() = (select last_value from witness.stop_at) then
        perform pg_terminate_backend(pg_backend_pid()), pg_sleep(60);
      end if;
    end $$`);
  await addStops(queue.admin.client);
});

/** Of all statements that the claim runs, so many are drawn. */
const STATEMENTS = process.env.TASKQ_FULL === undefined ? 25 : 1000;
const seed = Number(process.env.TASKQ_SEED ?? Math.floor(Math.random() * 1e9));

test(`a session that is killed before any statement of the claim that attends leaves all to the next claim (TASKQ_SEED=${seed})`, async () => {
  await queue.admin.rows(
    `select taskq.set_queue('default', '{"group_limit": 1}'), taskq.add_types('{other}', '{}')`,
  );
  const me = await worker();
  const endRoots = async () => {
    const { id } = await runWorkflow(queue.admin, STEPS, WORKFLOW);
    const [x, y] = await claimSteps(me);
    await settleAll(me, [x!]);
    await settleAll(me, [y!], 'dead');
    return id;
  };
  const attend = async () => {
    const steps = await claimSteps(me);
    expect(steps.map(({ step }) => step)).toEqual(['next', 'grouped', 'both']);
    return steps;
  };
  const finish = async (id: string, steps: readonly ClaimedStep[]) => {
    expect(await statuses(id)).toMatchObject({ cancelled: 'cancelled', too: 'cancelled' });
    await expectSettled(id);
    await settleAll(me, steps);
    for (let left = 2; left > 0; left--) await settleAll(me, await me.claim({ types: ['other'], start: 10 }));
    await me.claim();
    expect(await workflow(id)).toMatchObject({ state: 'failed', deaths: 1, live_steps: 0 });
    await expectSettled(id);
  };

  const first = await endRoots();
  const taken = await attend();
  const places = await queue.admin.rows<{ place: string }>('select place from witness.places order by nth');
  await finish(first, taken);
  expect(places.length).toBeGreaterThan(100);
  const random = seeded(seed);
  const drawn = places
    .map(({ place }, index) => ({ place, nth: index + 1, lot: random() }))
    .sort((a, b) => a.lot - b.lot)
    .slice(0, STATEMENTS);
  for (const { place, nth } of drawn) {
    const id = await endRoots();
    const before = await stored(queue.admin, id);
    await queue.admin.rows("select setval('witness.stop_at', last_value + $1) from witness.passed", nth);
    const victim = workerOf(await queue.session(), me.id);
    const pid = await victim.session.value('select pg_backend_pid()');
    victim.session.client.on('error', () => {});
    await expect(victim.claim({ start: 10 }), place).rejects.toMatchObject({ code: '57P01' });
    // It says so before its locks are free.
    await queue.admin.rows('select pg_terminate_backend($1, 10000)', pid);
    expect(await stored(queue.admin, id), place).toEqual(before);
    await finish(id, await attend());
  }
});

/** All that is stored of this workflow, and all that claims attend to. */
function stored(session: Session, id: string) {
  return session.rows(
    `select to_jsonb(t) as row from taskq.tasks t
     union all select to_jsonb(w) from taskq.workflows w where w.id = $1
     union all select to_jsonb(s) from taskq.workflow_steps s where s.workflow_id = $1
     union all select to_jsonb(e) from taskq.workflow_edges e where e.workflow_id = $1
     union all select to_jsonb(a) from taskq.workflow_asks a
     union all select to_jsonb(a) from taskq.asks a
     order by 1`,
    id,
  );
}
