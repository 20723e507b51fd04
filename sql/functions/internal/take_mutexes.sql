-- Takes the mutexes of the groups of these asks, those that no other session has, and returns them.
create or replace function taskq.take_mutexes(_asks taskq.asks[])
returns integer[]
language sql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
as $$
  select array(
    select m.place
    from (select distinct taskq.mutex_of(a.queue, a.key) as place from unnest(_asks) as a) as wanted
    cross join lateral (
      select l.place from taskq.group_mutexes l where l.place = wanted.place limit 1 for no key update skip locked
    ) as m
  )
$$;
