-- Returns those of these types that may be claimed at any time: all but those with an open breaker.
create or replace function taskq.without_open_breaker(_types text[])
returns text[]
language sql stable security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
  select array(
    select a.type from unnest(_types) as a (type)
    where not exists (select from taskq.standing_breakers() as b where b.type = a.type)
  )
$$;
