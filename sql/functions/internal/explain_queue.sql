-- Returns what keeps a queue's tasks from starting: `queue_paused`, with who paused it, why and since when. For the
-- columns see taskq.explain.
create or replace function taskq.explain_queue(_queue text, _ts timestamptz)
returns table (cause text, until timestamptz, about jsonb)
language sql stable security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
  select 'queue_paused', coalesce(s.paused_until, 'infinity'),
    jsonb_build_object('since', s.paused_at, 'by', s.paused_by, 'reason', s.pause_reason)
  from taskq.queues s
  where s.name = _queue and s.paused_at is not null and (s.paused_until is null or s.paused_until > _ts)
$$;
