-- Adds two histograms, bucket by bucket.
create or replace function taskq.sum_of_each(_a bigint[], _b bigint[])
returns bigint[]
language sql immutable parallel safe
as $$
  select array_agg(coalesce(u.a, 0) + coalesce(u.b, 0) order by u.place)
  from unnest(_a, _b) with ordinality as u (a, b, place)
$$;
