-- Removes the rows of workers that ended 40 days ago and left no lease, and keeps the sum of what they have lost. Skips
-- those that other transactions have locked.
create or replace function taskq.forget_workers(_ts timestamptz)
returns void
language sql security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
  with gone as (
    delete from taskq.workers where id in (
      select w.id from taskq.workers w
      where w.stopped_at < _ts - interval '40 days' and w.leases_until is null
      for update skip locked
    )
    returning leases_lost
  )
  update taskq.sampling s set leases_lost = s.leases_lost + g.leases_lost
  from (select sum(gone.leases_lost)::bigint as leases_lost from gone) as g
  where g.leases_lost > 0
$$;
