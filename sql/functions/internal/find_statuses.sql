-- Returns each of these ids once, in order. For an id that is not in _served, extra has its status, from whichever
-- table has its row; null there: no such task. It never existed, was purged, or outlived its retention.
create or replace function taskq.find_statuses(_ids bigint[], _served bigint[])
returns table (id bigint, extra jsonb)
language sql stable security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
as $$
  with asked as (
    select distinct a.id, a.id <> all (_served) as is_other from unnest(_ids) as a (id)
  ),
  others as (
    select array_agg(asked.id) as ids from asked where asked.is_other
  ),
  found as (
    select t.id, t.status::text, 1 as place from others cross join taskq.tasks t where t.id = any (others.ids)
    union all
    select f.id, f.status::text, 2 from others cross join taskq.finished_tasks f where f.id = any (others.ids)
    union all
    select d.id, 'dead', 3 from others cross join taskq.dead_tasks d where d.id = any (others.ids)
  )
  -- A row inserted by hand may have the id of another one.
  select distinct on (asked.id) asked.id, case when asked.is_other then jsonb_build_object('status', found.status) end
  from asked left join found on found.id = asked.id
  order by asked.id, found.place
$$;
