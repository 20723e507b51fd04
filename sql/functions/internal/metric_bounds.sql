-- Returns the upper bounds, in milliseconds, of the buckets in which taskq.metrics counts times; a last bucket has what
-- is longer.
create or replace function taskq.metric_bounds()
returns double precision[]
language sql immutable parallel safe
as $$
  select '{5,25,100,500,1000,5000,15000,60000,300000,900000,3600000,21600000}'::double precision[]
$$;
