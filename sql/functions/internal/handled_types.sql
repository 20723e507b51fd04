-- Returns the types that a live worker handles. A stopping worker does not count.
create or replace function taskq.handled_types(_ts timestamptz)
returns table (name text)
language sql stable security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
  select distinct unnest(w.types) from taskq.workers w
  where w.stopped_at is null and w.stop_requested_at is null
    and w.heartbeat_at >= _ts - make_interval(secs => w.lease_ms / 1000.0)
$$;
