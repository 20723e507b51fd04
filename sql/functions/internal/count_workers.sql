-- Counts the workers that have not ended, by status as in taskq.list_workers; and, for those that are not silent, the
-- slots, how many are busy, and the longest time since a heartbeat, in milliseconds (null: there is none). Leaves out
-- SQL sessions, which have no heartbeat.
create or replace function taskq.count_workers(_ts timestamptz)
returns table (
  live bigint, paused bigint, stopping bigint, silent bigint, slots bigint, busy bigint,
  heartbeat_delay_ms double precision
)
language sql stable security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
  select count(*) filter (where w.is_heard and w.stop_requested_at is null and w.paused_at is null),
    count(*) filter (where w.is_heard and w.stop_requested_at is null and w.paused_at is not null),
    count(*) filter (where w.is_heard and w.stop_requested_at is not null),
    count(*) filter (where not w.is_heard),
    coalesce(sum(w.concurrency) filter (where w.is_heard), 0),
    coalesce(sum(least(w.running, w.concurrency)) filter (where w.is_heard), 0),
    round(max(greatest(date_part('epoch', _ts - w.heartbeat_at), 0)::numeric * 1000) filter (where w.is_heard))
  from (
    select l.*, l.heartbeat_at >= _ts - make_interval(secs => l.lease_ms / 1000.0) as is_heard
    from taskq.workers l
    where l.stopped_at is null and l.session_role is null
  ) as w
$$;
