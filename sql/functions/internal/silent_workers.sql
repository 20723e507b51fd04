-- Returns the silent ones of the workers that the caller has watched (_watched: {id: the heartbeat it saw, in epoch
-- microseconds}): that heartbeat is still their last one, and by the clock it is a whole lease ago, or in the future.
-- The clock alone proves nothing, because it may have made a step; see taskq.begin_rescue.
create or replace function taskq.silent_workers(_watched jsonb, _ts timestamptz)
returns integer[]
language sql stable security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
  select coalesce(array_agg(w.id), '{}')
  from jsonb_each_text(coalesce(_watched, '{}')) as watched (id, beat_us)
  join taskq.workers w on w.id = watched.id::integer
  where w.stopped_at is null and taskq.epoch_us(w.heartbeat_at) = watched.beat_us::bigint
    and w.heartbeat_at not between _ts - make_interval(secs => w.lease_ms / 1000.0) and _ts + interval '1 second'
$$;
