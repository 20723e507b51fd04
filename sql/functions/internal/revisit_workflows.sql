-- Repairs the effects of manual edits, which insert no asks: looks at the next _most steps after those of the last
-- call. A step whose task was deleted ends as cancelled. Leaves an ask for a step that waits for no parent, or has
-- ended without being counted by its children. Skips what others have locked.
create or replace function taskq.revisit_workflows(_most integer, _ts timestamptz)
returns void
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
-- Every join here looks up a row by its key.
set enable_hashjoin = off
set enable_mergejoin = off
as $$
#variable_conflict use_column
declare
  lost_of bigint[];
  lost text[];
  asked_of bigint[];
  asked text[];
  last_of bigint;
  last_step text;
begin
  -- In one statement: a settle deletes a task and notes its step at once.
  with page as (
    select s.*
    from taskq.housekeeping h
    cross join lateral (
      select l.workflow_id, l.step, l.task_id, l.status, l.parents_left,
        row_number() over (order by l.workflow_id, l.step) as nth
      from taskq.workflow_steps l
      where (l.workflow_id, l.step) > (h.steps_of, h.steps_to)
      order by l.workflow_id, l.step
      limit _most
    ) as s
  ),
  judged as (
    select p.*, p.status in ('waiting', 'released')
        and (select t.id from taskq.tasks t where t.id = p.task_id limit 1) is null as is_lost,
      case
        when p.status = 'waiting' then p.parents_left <= 0
        when p.status <> 'released' then (
          select true from taskq.workflow_edges e
          cross join lateral (
            select l.status from taskq.workflow_steps l
            where l.workflow_id = e.workflow_id and l.step = e.child limit 1
          ) as child
          -- `between`: as in taskq.meet_edges.
          where e.workflow_id = p.workflow_id and e.parent between p.step and p.step and not e.is_met
            and child.status = 'waiting'
            and (p.status = 'completed' or e.on_death <> 'wait')
          limit 1
        )
      end as is_due
    from page p
  )
  select array_agg(j.workflow_id) filter (where j.is_lost), array_agg(j.step) filter (where j.is_lost),
    array_agg(j.workflow_id) filter (where j.is_due and not j.is_lost),
    array_agg(j.step) filter (where j.is_due and not j.is_lost),
    max(j.workflow_id) filter (where j.nth = _most), max(j.step) filter (where j.nth = _most)
  into lost_of, lost, asked_of, asked, last_of, last_step
  from judged j;
  if lost is not null then
    perform taskq.end_lost_steps(lost_of, lost, _ts);
  end if;
  if asked is not null then
    perform taskq.ask_steps(asked_of, asked, _ts);
  end if;
  update taskq.housekeeping h set steps_of = coalesce(last_of, 0), steps_to = coalesce(last_step, '')
  where h.only_row in (
    select o.only_row from taskq.housekeeping o
    where (o.steps_of, o.steps_to) <> (coalesce(last_of, 0), coalesce(last_step, '')) for update skip locked
  );
end
$$;
