-- Returns how many tasks there are in each bucket of taskq.metric_bounds(), from pairs of a bucket and a number.
create or replace function taskq.histogram(_buckets smallint[], _tasks integer[])
returns bigint[]
language sql immutable parallel safe
as $$
  select array_agg(coalesce(n.tasks, 0) order by b.place)
  from generate_series(0, cardinality(taskq.metric_bounds())) as b (place)
  left join (
    select u.bucket, sum(u.tasks)::bigint as tasks from unnest(_buckets, _tasks) as u (bucket, tasks) group by u.bucket
  ) as n on n.bucket = b.place
$$;
