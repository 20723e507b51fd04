-- Removes a page of keys whose period is over, and returns how many. Skips those that other transactions have locked.
create or replace function taskq.forget_keys(_page integer, _ts timestamptz)
returns integer
language sql security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
  with gone as (
    delete from taskq.held_keys h
    where (h.queue, h.key) in (
      select k.queue, k.key from taskq.held_keys k where k.until <= _ts
      order by k.until limit _page for update skip locked
    )
    returning 1
  )
  select count(*)::integer from gone
$$;
