-- Removes a page of the states of rates that groups no longer have, and returns how many. For groups with a rate, fills
-- write and remove them (see taskq.spend_group_rates), so a lock here would delay a claim.
create or replace function taskq.forget_group_rates(_page integer, _ts timestamptz)
returns integer
language sql security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
  with gone as (
    delete from taskq.group_rates r
    where (r.queue, r.key) in (
      select o.queue, o.key
      from taskq.group_rates o
      cross join lateral taskq.group_slots(o.queue, o.key, _ts) as l
      where o.used_to < _ts - interval '1 day' and l.rate is null
      limit _page
      for update of o skip locked
    )
    returning 1
  )
  select count(*)::integer from gone
$$;
