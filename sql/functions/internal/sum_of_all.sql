-- Adds up histograms, each as a JSON array, bucket by bucket. Null: of none.
create or replace function taskq.sum_of_all(_histograms jsonb[])
returns bigint[]
language sql immutable parallel safe
as $$
  select case when _histograms is null then array_fill(0::bigint, array[cardinality(taskq.metric_bounds()) + 1]) else (
    select array_agg(b.tasks order by b.place)
    from (
      select e.place, sum(e.value::bigint)::bigint as tasks
      from unnest(_histograms) as h (histogram)
      cross join lateral jsonb_array_elements_text(h.histogram) with ordinality as e (value, place)
      group by e.place
    ) as b
  ) end
$$;
