-- Removes a page of past settings under which no kept task ended, and returns how many. A task ends after it is
-- created, and ids rise in the order of creation, except for transactions that were open meanwhile: they get a day.
create or replace function taskq.forget_settings(_page integer, _ts timestamptz)
returns integer
language sql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
as $$
  with gone as (
    delete from taskq.past_settings p
    where (p.level, p.name, p.until) in (
      select o.level, o.name, o.until
      from taskq.past_settings o
      where o.until < least(
        (select f.created_at from taskq.finished_tasks f order by f.id limit 1),
        (select d.died_at from taskq.dead_tasks d order by d.died_at, d.id limit 1),
        _ts
      ) - interval '1 day'
      order by o.until
      limit _page
      for update skip locked
    )
    returning 1
  )
  select count(*)::integer from gone
$$;
