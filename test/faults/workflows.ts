import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import {
  type Act,
  BELIEVED,
  type Chaos,
  comeBack,
  leaveClaimOpen,
  oneOf,
  type Reach,
  runChaos,
  terminateSession,
  upTo,
} from './chaos.ts';
import { randomStep, randomWorkflow, type Step, type Workflow, wideFanIn } from './random-workflow.ts';
import type { Found, Testbed } from './scenario.ts';
import { checkWorkflows } from './workflow-checks.ts';

const PRODUCERS = 3;

/**
 * Workflows of every shape run while steps are added to them, in transactions that stay open or are rolled back, while
 * steps are cancelled and revived, workflows closed, cancelled and retried, rows kept locked, a claim stays open and a
 * worker comes back that has lost its leases; while sessions are terminated where an outcome waits for its claim, workers
 * killed, and the server crashes. Triggers note each end and each release, handlers each run. Every workflow ends; no
 * step starts before its parents have ended as its edges ask, completes twice, or is released more often than it should
 * be; and what a workflow has counted is what there is.
 */
export function workflows(testbed: Testbed, seconds: number): Promise<Found> {
  const submitWide: Act = (client, reach) => submit(client, reach, wideFanIn(seconds * 20));
  return runChaos(testbed, seconds, { ...CHAOS, acts: [...CHAOS.acts, [8000, submitWide]] });
}

const CHAOS: Chaos = {
  prepare: prepareWorkflows,
  acts: [
    ...Array.from({ length: PRODUCERS }, () => [150, submitAny] as const),
    ...Array.from({ length: PRODUCERS }, () => [50, grow] as const),
    [150, close],
    [250, cancelSteps],
    [400, reviveSteps],
    [600, cancelWorkflow],
    [400, retryWorkflow],
    [400, keepLocked],
    [20, terminateBeforeRelease],
    [300, (client, reach) => comeBack(client, reach, 'step')],
    [1500, keepClaimOpen],
  ],
  windUp: windUpWorkflows,
  toReach: [
    ...['workflows', 'added steps', 'closed', 'cancelled steps', 'revived steps', 'cancelled workflows'],
    ...['retried workflows', 'rows kept locked', 'sessions terminated before a release', 'zombies'],
    ...['claims left open', 'completed workflows', 'failed workflows', 'released steps'],
    ...['steps cancelled by a parent', 'steps that went on after a death', 'stuck workflows'],
    'steps added by handlers',
  ],
  notToReach: [BELIEVED],
  check: checkWorkflows,
};

/** Makes the tables and triggers that witness the ends and the releases of steps. */
export async function prepareWorkflows(client: pg.Client): Promise<void> {
  await client.query(`
    create table witness.workflows (id bigint primary key, spec jsonb);
    create table witness.steps (workflow_id bigint, step text, task_id bigint primary key);
    create table witness.edges (workflow_id bigint, parent text, child text, on_death text);
    create table witness.cancelled (task_id bigint);
    create table witness.disturbed (workflow_id bigint, how text);
    create table witness.ends (task_id bigint, status text, at timestamptz default clock_timestamp());
    create table witness.releases (task_id bigint, at timestamptz default clock_timestamp());
    create index on witness.runs (task_id);
    create index on witness.ends (task_id);
    create function witness.note_end() returns trigger language plpgsql as $$
    begin
      insert into witness.ends (task_id, status)
      values (new.id, case tg_argv[0] when 'dead' then 'dead' else to_jsonb(new) ->> 'status' end);
      return null;
    end $$;
    create trigger note after insert on taskq.finished_tasks
      for each row execute function witness.note_end('finished');
    create trigger note after insert on taskq.dead_tasks for each row execute function witness.note_end('dead');
    create function witness.note_release() returns trigger language plpgsql as $$
    begin
      insert into witness.releases (task_id) values (new.id);
      -- A kill has time to come before the commit.
      if random() < 0.1 then perform pg_sleep(0.02); end if;
      return null;
    end $$;
    create trigger note_release after update on taskq.tasks
      for each row when (old.gate = 'p' and new.gate is distinct from 'p') execute function witness.note_release();
    select taskq.add_types('{step}', '{}');
    select taskq.set_queue('default', '{"group_limit": 2}');
  `);
}

function submitAny(client: pg.Client, reach: Reach): Promise<void> {
  return submit(client, reach, randomWorkflow());
}

async function submit(client: pg.Client, reach: Reach, workflow: Workflow): Promise<void> {
  await client.query('begin');
  await runWitnessed(client, workflow);
  await endTransaction(client, reach, 'workflows');
}

/** Starts a workflow, and notes what it has to do. Returns its id. */
export async function runWitnessed(client: pg.Client, workflow: Workflow): Promise<string> {
  const { rows } = await client.query<{ id: string; steps: Record<string, string> }>(
    "select id, extra -> 'steps' as steps from taskq.run_workflow($1)",
    [JSON.stringify(workflow)],
  );
  const { id, steps } = rows[0]!;
  await client.query('insert into witness.workflows values ($1, $2)', [id, JSON.stringify(workflow)]);
  await witnessSteps(
    client,
    id,
    workflow.steps.map((step) => ({ ...step, id: steps[step.step]! })),
  );
  return id;
}

async function witnessSteps(
  client: pg.Client,
  workflow: string,
  steps: readonly (Step & { readonly id: string })[],
): Promise<void> {
  const values = [workflow, JSON.stringify(steps)];
  await client.query(
    `with step as (select s.* from jsonb_to_recordset($2) as s (id bigint, step text)),
     noted as (insert into witness.steps select $1::bigint, step.step, step.id from step)
     insert into witness.enqueued select step.id, 'default', '{}' from step`,
    values,
  );
  await client.query(
    `insert into witness.edges
     select $1::bigint, parent ->> 'step', s.step, parent ->> 'on_death'
     from jsonb_to_recordset($2) as s (step text, after jsonb), jsonb_array_elements(s.after) as parent`,
    values,
  );
}

/** It stays open for a while now and then, and may be rolled back. */
async function endTransaction(client: pg.Client, reach: Reach, what: string): Promise<void> {
  if (Math.random() < 0.15) await sleep(upTo(1500));
  const isRolledBack = Math.random() < 0.15;
  await client.query(isRolledBack ? 'rollback' : 'commit');
  reach(isRolledBack ? 'rollbacks' : what);
}

/** Adds a step after some of an open workflow, which may end meanwhile. */
async function grow(client: pg.Client, reach: Reach): Promise<void> {
  await client.query('begin');
  const { rows } = await client.query<{ id: string; steps: string[] }>(
    `select w.id, array(select s.step from witness.steps s where s.workflow_id = w.id order by random() limit 3) as steps
     from witness.workflows w join taskq.workflows open using (id)
     where open.is_open order by random() limit 1`,
  );
  const [workflow] = rows;
  if (workflow === undefined) return void (await client.query('rollback'));
  const name = `t${crypto.randomUUID().slice(0, 8)}`;
  const { type, payload, ...step } = randomStep(name, workflow.steps.slice(0, upTo(4)), { mayAdd: true });
  const options = { ...step, workflow: workflow.id };
  const values = [type, JSON.stringify(payload), JSON.stringify(options)];
  let added: { readonly id: string }[];
  try {
    ({ rows: added } = await client.query('select id from taskq.enqueue($1, $2, $3)', values));
  } catch (error) {
    // Another transaction has closed it meanwhile.
    if ((error as pg.DatabaseError).constraint !== 'the_workflow_is_open') throw error;
    await client.query('rollback');
    return reach('refused steps');
  }
  await witnessSteps(client, workflow.id, [{ ...step, type, payload, id: added[0]!.id }]);
  await endTransaction(client, reach, 'added steps');
}

async function close(client: pg.Client, reach: Reach): Promise<void> {
  const { rowCount } = await client.query(
    `select taskq.close_workflow(id)
     from (
       select w.id from taskq.workflows w
       where w.is_open and (random() < 0.1 or exists (
         select from taskq.workflow_steps s where s.workflow_id = w.id and s.status = 'completed'
       ))
       order by random() limit 1
     ) as open`,
  );
  reach('closed', rowCount ?? 0);
}

async function cancelSteps(client: pg.Client, reach: Reach): Promise<void> {
  const { rowCount } = await client.query(
    `with few as (
       select array_agg(id) as ids from (select id from taskq.tasks where random() < 0.02 order by id limit 3) as t
     ),
     noted as (insert into witness.cancelled select unnest(few.ids) from few)
     select from few, taskq.cancel(few.ids)`,
  );
  reach('cancelled steps', rowCount ?? 0);
}

async function reviveSteps(client: pg.Client, reach: Reach): Promise<void> {
  const { rowCount } = await client.query(
    `with few as (
       select array_agg(id) as ids, array_agg(workflow_id) as workflows from (
         select id, workflow_id from taskq.dead_tasks where workflow_id is not null order by random() limit 2
       ) as t
     ),
     noted as (insert into witness.disturbed select unnest(few.workflows), 'revived' from few)
     select from few, taskq.revive(few.ids) as r where r.answer = 'revived'`,
  );
  reach('revived steps', rowCount ?? 0);
}

function cancelWorkflow(client: pg.Client, reach: Reach): Promise<void> {
  return disturb(client, reach, {
    which: "state in ('open', 'running', 'stuck')",
    verb: 'taskq.cancel_workflow(id)',
    what: 'cancelled workflows',
  });
}

function retryWorkflow(client: pg.Client, reach: Reach): Promise<void> {
  return disturb(client, reach, {
    which: "state in ('failed', 'cancelled', 'stuck')",
    verb: 'taskq.retry_workflow(id)',
    what: 'retried workflows',
  });
}

async function disturb(
  client: pg.Client,
  reach: Reach,
  { which, verb, what }: { which: string; verb: string; what: string },
): Promise<void> {
  const { rows } = await client.query<{ id: string }>(
    `select id from taskq.workflows where ${which} order by random() limit 1`,
  );
  if (rows[0] === undefined) return;
  await client.query('begin');
  await client.query('insert into witness.disturbed values ($1, $2)', [rows[0].id, what]);
  await client.query(`select ${verb} from taskq.workflows where id = $1`, [rows[0].id]);
  await endTransaction(client, reach, what);
}

/** As an application does that changes tasks in a transaction of its own. */
async function keepLocked(client: pg.Client, reach: Reach): Promise<void> {
  await client.query('begin');
  const { rowCount } = await client.query(
    `update taskq.tasks set payload = payload || '{"seen": true}' where id = any (array(
       select id from taskq.tasks where workflow_id is not null and gate = 'p' order by random() limit 3
     ))`,
  );
  await sleep(upTo(600));
  await client.query(oneOf(['commit', 'rollback']));
  reach('rows kept locked', rowCount ?? 0);
}

function keepClaimOpen(client: pg.Client, reach: Reach): Promise<void> {
  const end = oneOf(['commit', 'rollback']);
  return leaveClaimOpen(client, reach, { queues: ['default'], types: ['step'], ms: 500, end });
}

/** Terminates a worker's session while an outcome has not been attended to. */
async function terminateBeforeRelease(client: pg.Client, reach: Reach): Promise<void> {
  const { rowCount } = await client.query(
    'select from taskq.workflow_asks where due_at <= clock_timestamp() limit 1',
  );
  if (rowCount === 0 || Math.random() < 0.8) return;
  reach('sessions terminated before a release', await terminateSession(client, 'taskq%'));
}

/** Ends the workflows that stay open, and those that wait for someone to revive a step. */
export async function windUpWorkflows(client: pg.Client, reach: Reach): Promise<void> {
  await client.query('select taskq.close_workflow(id) from taskq.workflows where is_open');
  const { rowCount } = await client.query(
    `with stuck as materialized (select id from taskq.workflows where state = 'stuck'),
     noted as (insert into witness.disturbed select id, 'stuck' from stuck)
     select taskq.cancel_workflow(id) from stuck`,
  );
  reach('stuck workflows', rowCount ?? 0);
}
