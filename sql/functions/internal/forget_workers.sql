-- Removes the rows of workers that ended 40 days ago and left no lease. Skips those that other transactions have
-- locked.
create or replace function taskq.forget_workers(_ts timestamptz)
returns void
language sql security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
  delete from taskq.workers where id in (
    select w.id from taskq.workers w
    where w.stopped_at < _ts - interval '40 days' and w.leases_until is null
    for update skip locked
  )
$$;
