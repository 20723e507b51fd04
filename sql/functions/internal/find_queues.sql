-- Returns the queues that have a live task, in order, by skipping through the claim index with one probe per queue.
create or replace function taskq.find_queues()
returns setof text
language plpgsql stable security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
begin
  return query
  with recursive found as (
    (select t.queue from taskq.tasks t order by t.queue limit 1)
    union all
    select (select t.queue from taskq.tasks t where t.queue > found.queue order by t.queue limit 1)
    from found where found.queue is not null
  )
  select queue from found where queue is not null;
end
$$;
