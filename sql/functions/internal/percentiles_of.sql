-- Returns {p50, p95} of a histogram, to a tenth of a millisecond (see taskq.percentile_of). Null: it has no attempt, or
-- is null, which costs no call: most steps of a series are.
create or replace function taskq.percentiles_of(_histogram bigint[])
returns jsonb
language sql immutable strict parallel safe
as $$
  select jsonb_build_object('p50', p.p50, 'p95', taskq.percentile_of(_histogram, 0.95))
  from (select taskq.percentile_of(_histogram, 0.5) as p50) as p
  where p.p50 is not null
$$;
