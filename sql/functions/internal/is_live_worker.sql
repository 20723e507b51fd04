-- Returns whether a worker with this name is alive: it has not ended, and its last heartbeat is no older than its
-- lease.
create or replace function taskq.is_live_worker(_name text, _ts timestamptz)
returns boolean
language sql stable security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
  select exists (
    select from taskq.workers w
    where w.name = _name and w.stopped_at is null
      and w.heartbeat_at >= _ts - make_interval(secs => w.lease_ms / 1000.0)
  )
$$;
