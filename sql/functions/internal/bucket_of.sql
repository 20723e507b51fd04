-- Returns the place of a time among taskq.metric_bounds(), from 0 on; a bound is in the bucket that it ends.
--
-- Inlined into the calling statement, at no cost, which is why it names its schema and has no `set` clause.
create or replace function taskq.bucket_of(_ms double precision)
returns smallint
language sql immutable parallel safe
as $$
  select width_bucket(_ms - 0.001, taskq.metric_bounds())::smallint
$$;
