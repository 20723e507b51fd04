-- Returns whether as many of these tasks as a queue may run are still held.
create or replace function taskq.is_full(_queue text, _held bigint[], _max_running integer)
returns boolean
language plpgsql stable security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
begin
  return not exists (
    select from unnest(_held) as h (id)
    left join lateral (
      select t.queue from taskq.tasks t where t.id = h.id and t.lease_owner is not null limit 1
    ) as t on true
    where t.queue is distinct from _queue
    offset cardinality(_held) - _max_running
  );
end
$$;
