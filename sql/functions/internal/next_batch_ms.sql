-- Returns how many milliseconds after _ts the next batch of an operation is due; null: none is running. Reads an index
-- entry for each running one.
create or replace function taskq.next_batch_ms(_ts timestamptz)
returns bigint
language sql stable security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
as $$
  select ceil(greatest(extract(epoch from min(o.next_at) - _ts), 0) * 1000)::bigint
  from taskq.operations o where o.ended_at is null
  -- `greatest` ignores null.
  having count(*) > 0
$$;
