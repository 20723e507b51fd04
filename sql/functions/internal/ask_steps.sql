-- Asks the first claim from _due on to look at these steps (parallel arrays; repeats are allowed).
create or replace function taskq.ask_steps(_of bigint[], _steps text[], _due timestamptz)
returns void
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set plan_cache_mode = force_generic_plan
as $$
begin
  insert into taskq.workflow_asks (due_at, workflow_id, steps)
  select _due, s.workflow_id, coalesce(array_agg(distinct s.step) filter (where s.step is not null), '{}')
  from unnest(_of, _steps) as s (workflow_id, step)
  group by s.workflow_id;
end
$$;
