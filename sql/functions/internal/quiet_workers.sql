-- Returns the workers other than the caller whose last heartbeat is at least a quarter of their lease ago, or in the
-- future, as taskq.begin_rescue describes them; and the latest time that any worker knows from before the clock went
-- back (null: it did not).
create or replace function taskq.quiet_workers(
  _worker integer, _ts timestamptz, out quiet jsonb, out clock_was timestamptz
)
language plpgsql stable security definer
set search_path = pg_catalog, taskq, pg_temp
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
begin
  select
    coalesce(
      jsonb_object_agg(w.id, jsonb_build_object(
        'beat_us', taskq.epoch_us(w.heartbeat_at), 'lease_ms', w.lease_ms, 'watched_ms', w.watched_ms,
        'is_late', w.heartbeat_at not between _ts - lease.half and _ts + interval '1 second'
      )) filter (
        where w.id is distinct from _worker
          and w.heartbeat_at not between _ts - lease.half / 2 and _ts + interval '1 second'
      ),
      '{}'
    ),
    greatest(max(w.clock_was), max(w.heartbeat_at) filter (where w.heartbeat_at > _ts + interval '1 second'))
  into quiet, clock_was
  from taskq.workers w
  cross join lateral (select make_interval(secs => w.lease_ms / 2000.0) as half) as lease
  -- Sessions have no heartbeat.
  where w.stopped_at is null and w.session_role is null;
end
$$;
