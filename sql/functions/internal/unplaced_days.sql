-- Returns the days on which the rows of a table of history (_parent) without a partition are dropped. No
-- rows: all have one. Looks each day up in an index, however many rows there are. Leaves out days after the year 9999,
-- which only rows inserted by hand have: they keep their place.
create or replace function taskq.unplaced_days(_parent text)
returns setof date
language plpgsql stable security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
as $$
begin
  return query execute format(
    $query$
    with recursive days as (
      (select f.drop_on as day from taskq.%1$I f where f.kept_in = '-infinity' order by f.drop_on limit 1)
      union all
      select (
        select f.drop_on from taskq.%1$I f
        where f.kept_in = '-infinity' and f.drop_on > days.day order by f.drop_on limit 1
      )
      from days where days.day is not null
    )
    select day from days where day < '10000-01-01' or day = 'infinity'
    $query$, _parent
  );
end
$$;
