-- Removes a page of keys whose period is over. Skips those that other transactions have locked.
create or replace function taskq.forget_keys(_page integer, _ts timestamptz)
returns void
language sql security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
  delete from taskq.held_keys h
  where (h.queue, h.key) in (
    select k.queue, k.key from taskq.held_keys k where k.until <= _ts
    order by k.until limit _page for update skip locked
  )
$$;
