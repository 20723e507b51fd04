-- Counts the steps of a workflow by status, such as {"completed": 3, "dead": 1}.
create or replace function taskq.count_steps(_workflow bigint)
returns jsonb
language sql stable security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
as $$
  select coalesce(jsonb_object_agg(c.status, c.number), '{}')
  from (
    select s.status, count(*) as number from taskq.workflow_steps s where s.workflow_id = _workflow group by s.status
  ) as c
$$;
