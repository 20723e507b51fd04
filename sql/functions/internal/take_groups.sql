-- Takes the free mutexes of the groups of these asks, and returns the asks of those groups.
create or replace function taskq.take_groups(_asks taskq.asks[])
returns taskq.asks[]
language sql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
as $$
  with taken as materialized (
    select wanted.place
    from (select distinct taskq.mutex_of(a.queue, a.key) as place from unnest(_asks) as a) as wanted
    cross join lateral (
      select from taskq.group_mutexes l where l.place = wanted.place limit 1 for no key update skip locked
    ) as m
  )
  select array(
    select a::taskq.asks from unnest(_asks) as a
    where taskq.mutex_of(a.queue, a.key) in (select t.place from taken t)
  )
$$;
