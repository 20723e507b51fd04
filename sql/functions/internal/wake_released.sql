-- Wakes sleeping workers for those of these tasks, which taskq.release_tasks has released, that are not claimed yet.
-- A claim that has released them calls it last: most often it takes them itself.
create or replace function taskq.wake_released(_ids bigint[])
returns void
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
begin
  perform taskq.wake(l.queue, l.due)
  from (
    select t.queue, min(t.available_at) as due
    from unnest(_ids) as released (id)
    cross join lateral (
      select w.queue, w.available_at from taskq.tasks w
      where w.id = released.id and w.lease_owner is null and (w.available_at < 'infinity') is true
      limit 1
    ) as t
    group by t.queue
  ) as l;
end
$$;
