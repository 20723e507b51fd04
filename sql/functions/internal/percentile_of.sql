-- Returns the time, in milliseconds, within which this share of the attempts of a histogram lies (0.95: the p95). Takes
-- the attempts of a bucket as spread evenly between its bounds. The last bucket has no upper bound: a percentile there
-- is the bound before it. Null: there are no attempts.
create or replace function taskq.percentile_of(_histogram bigint[], _share double precision)
returns numeric
language plpgsql immutable parallel safe
as $$
declare
  bounds constant double precision[] := taskq.metric_bounds();
  wanted constant double precision := _share * (select sum(h.tasks) from unnest(_histogram) as h (tasks));
  low double precision := 0;
  passed bigint := 0;
begin
  for place in 1 .. cardinality(bounds) loop
    if _histogram[place] > 0 and passed + _histogram[place] >= wanted then
      return round((low + (bounds[place] - low) * (wanted - passed) / _histogram[place])::numeric, 1);
    end if;
    passed := passed + _histogram[place];
    low := bounds[place];
  end loop;
  return case when wanted > 0 then low end;
end
$$;
