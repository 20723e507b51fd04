import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { type Find, numberOf, PATIENCE_MS, type Reach } from './chaos.ts';

const DEATHS = "('dead', 'cancelled', 'expired')";

/** Looks for what is wrong once all workflows of the stress have ended, and counts what they reached. */
export async function checkWorkflows(client: pg.Client, find: Find, reach: Reach): Promise<void> {
  for (const end = performance.now() + PATIENCE_MS; performance.now() < end; await sleep(100)) {
    const left = 'select (select count(*) from taskq.workflow_asks) + (select count(*) from taskq.tasks)';
    if ((await numberOf(client, left)) === 0) break;
  }
  await client.query(`
    insert into witness.edges
    select s.workflow_id, parent.step, a.step, 'continue'
    from witness.steps s
    join witness.workflows w on w.id = s.workflow_id
    join taskq.all_tasks t on t.id = s.task_id
    cross join lateral jsonb_to_recordset(t.payload -> 'adds') as a (step text, after jsonb)
    cross join lateral jsonb_array_elements_text(a.after) as parent (step);
    create table witness.now as
    select s.*, t.status::text as task_status, t.reason from taskq.workflow_steps s
    left join taskq.all_tasks t on t.id = s.task_id;
    create unique index on witness.now (workflow_id, step);
    create table witness.quiet as
    select w.id from taskq.workflows w
    where w.cancel_requested_at is null and (w.failing_at is null or not w.fail_fast)
      and not exists (select from witness.disturbed d where d.workflow_id = w.id);
    analyze witness.now; analyze witness.edges; analyze witness.runs; analyze witness.ends;
  `);
  const counts: Readonly<Record<string, string>> = {
    'completed workflows': "select count(*) from taskq.workflows where state = 'completed'",
    'failed workflows': "select count(*) from taskq.workflows where state = 'failed'",
    'released steps': 'select count(*) from witness.releases',
    'steps cancelled by a parent': 'select count(*) from taskq.workflow_steps where cancelled_by is not null',
    'steps that went on after a death': `select count(*) from witness.edges e
      join witness.now p on (p.workflow_id, p.step) = (e.workflow_id, e.parent)
      join witness.now c on (c.workflow_id, c.step) = (e.workflow_id, e.child)
      where p.status in ${DEATHS} and c.status = 'completed'`,
    'steps added by handlers': `select count(*) from witness.now n
      where not exists (select from witness.steps s where s.task_id = n.task_id)`,
    'undisturbed workflows': 'select count(*) from witness.quiet',
  };
  for (const [what, text] of Object.entries(counts)) reach(what, await numberOf(client, text));
  for (const [what, text] of Object.entries(WRONG)) await find(what, text);
}

/** What must be nowhere, and finds it. */
const WRONG: Readonly<Record<string, string>> = {
  'asks that nobody attends to': 'select * from taskq.workflow_asks',
  'workflows lost, or not ended': `
    select w.id, t.state, t.is_open, t.live_steps, t.waiting_steps
    from witness.workflows w left join taskq.workflows t using (id)
    where t.ended_at is null or coalesce(t.state, '') not in ('completed', 'failed', 'cancelled')`,
  'steps lost': `
    select s.* from witness.steps s
    left join taskq.workflow_steps t using (workflow_id, step, task_id) where t.step is null`,
  'steps that are not what their task is': `
    select workflow_id, step, task_id, status, task_status from witness.now
    where status is distinct from task_status`,
  'steps that started before a parent had ended': `
    select e.*, r.task_id, r.began_at, min(x.at) as parent_ended_at
    from witness.edges e
    join witness.now c on (c.workflow_id, c.step) = (e.workflow_id, e.child)
    join witness.now p on (p.workflow_id, p.step) = (e.workflow_id, e.parent)
    join witness.runs r on r.task_id = c.task_id
    left join witness.ends x on x.task_id = p.task_id and (x.status = 'completed' or e.on_death = 'continue')
    group by e.workflow_id, e.parent, e.child, e.on_death, r.task_id, r.run
    having min(x.at) is null or min(x.at) > r.began_at`,
  'steps that started before a good run of a parent had ended': `
    select e.*, r.task_id, r.began_at, min(x.ended_at) as parent_ended_at
    from witness.edges e
    join witness.now c on (c.workflow_id, c.step) = (e.workflow_id, e.child)
    join witness.now p on (p.workflow_id, p.step) = (e.workflow_id, e.parent)
    join witness.runs r on r.task_id = c.task_id
    left join witness.runs x on x.task_id = p.task_id and x.good
    where e.on_death <> 'continue'
    group by e.workflow_id, e.parent, e.child, e.on_death, r.task_id, r.run
    having min(x.ended_at) is null or min(x.ended_at) > r.began_at`,
  'steps that completed twice': `
    select task_id from witness.ends where status = 'completed' group by task_id having count(*) > 1`,
  'steps that ran after they had completed': `
    select x.task_id, x.at, r.began_at, r.worker from witness.ends x
    join witness.runs r on r.task_id = x.task_id and r.began_at > x.at where x.status = 'completed'`,
  'steps that ended twice, and nobody brought back': `
    select x.task_id, array_agg(x.status order by x.at) from witness.ends x
    join witness.now n on n.task_id = x.task_id
    where not exists (select from witness.disturbed d where d.workflow_id = n.workflow_id)
    group by x.task_id having count(*) > 1`,
  'steps that were released too often': `
    select r.task_id, count(*) from witness.releases r
    join witness.now n on n.task_id = r.task_id
    group by r.task_id, n.workflow_id having count(*) > 1 + (
      select count(*) from witness.disturbed d where d.workflow_id = n.workflow_id and d.how <> 'cancelled workflows'
    )`,
  'steps with parents that ran without a release': `
    select distinct e.workflow_id, e.child from witness.edges e
    join witness.now n on (n.workflow_id, n.step) = (e.workflow_id, e.child)
    join witness.steps s on s.task_id = n.task_id
    join witness.quiet q on q.id = n.workflow_id
    where exists (select from witness.runs r where r.task_id = n.task_id)
      and not exists (select from witness.releases r where r.task_id = n.task_id)
      and s.step like 's%'`,
  'workflows in another state than their steps': `
    select w.id, w.state, w.cancel_requested_at, array_agg(n.status) from taskq.workflows w
    join witness.now n on n.workflow_id = w.id
    where not exists (select from taskq.workflow_edges e where e.workflow_id = w.id and e.parent = n.step)
    group by w.id
    having w.state <> case
      when w.cancel_requested_at is not null then 'cancelled'
      when bool_and(n.status = 'completed') then 'completed'
      else 'failed'
    end`,
  'workflows that count otherwise than they have': `
    select id, live_steps, waiting_steps from taskq.workflows where live_steps <> 0 or waiting_steps <> 0`,
  'workflows that count other deaths than they have': `
    select w.id, w.deaths, count(n.step) as found from taskq.workflows w
    join witness.quiet using (id)
    left join witness.now n on n.workflow_id = w.id and n.status in ${DEATHS} and n.cancelled_by is null
    group by w.id having w.deaths <> count(n.step)`,
  'completed steps that still wait for a parent': `
    select n.workflow_id, n.step, n.parents_left, e.parent from witness.now n
    left join taskq.workflow_edges e on e.workflow_id = n.workflow_id and e.child = n.step and not e.is_met
    where n.status = 'completed' and (n.parents_left <> 0 or e.parent is not null)`,
  'edges lost, or of another kind': `
    select e.* from witness.edges e
    join witness.now n on (n.workflow_id, n.step) = (e.workflow_id, e.child)
    left join taskq.workflow_edges t on (t.workflow_id, t.parent, t.child, t.on_death)
      = (e.workflow_id, e.parent, e.child, e.on_death)
    where t.child is null`,
  'steps that were cancelled without a reason': `
    select n.workflow_id, n.step, n.status, n.cancelled_by, n.reason from witness.now n
    join witness.quiet q on q.id = n.workflow_id
    where n.status = 'cancelled'
      and not exists (select from witness.cancelled c where c.task_id = n.task_id)
      and not exists (
        select from witness.edges e join witness.now p on (p.workflow_id, p.step) = (e.workflow_id, e.parent)
        where (e.workflow_id, e.child) = (n.workflow_id, n.step) and e.on_death = 'cancel' and p.status in ${DEATHS}
          and n.cancelled_by = p.step
      )`,
  'steps that completed though a parent that cancels them died': `
    select n.workflow_id, n.step from witness.now n
    join witness.quiet q on q.id = n.workflow_id
    join witness.edges e on (e.workflow_id, e.child) = (n.workflow_id, n.step)
    join witness.now p on (p.workflow_id, p.step) = (e.workflow_id, e.parent)
    where n.status = 'completed' and e.on_death <> 'continue' and p.status <> 'completed'`,
  'steps that a handler added though it did not complete, or did not add': `
    select s.workflow_id, s.step, t.status, a.step as added, n.task_id as added_task
    from witness.steps s
    join taskq.all_tasks t on t.id = s.task_id
    cross join lateral jsonb_to_recordset(t.payload -> 'adds') as a (step text)
    left join witness.now n on (n.workflow_id, n.step) = (s.workflow_id, a.step)
    where (t.status = 'completed') <> (n.step is not null)`,
  'workflows whose end is followed by more or less than one task': `
    select w.id, f.count from witness.workflows w
    join witness.quiet using (id)
    cross join lateral (
      select count(*) from taskq.all_tasks t
      where t.payload ->> 'role' = 'end' and t.payload #>> '{workflow,id}' = w.id::text
    ) as f
    where w.spec ? 'on_end' and f.count <> 1`,
};
