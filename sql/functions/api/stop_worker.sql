-- Asks a worker to stop as SIGTERM does: it claims nothing more, lets running tasks finish within its grace period, and
-- gives the rest back. The worker is notified at once, or learns of it with its next heartbeat. The role of the session
-- is recorded, with the name _by beside it, and _reason in taskq.audit. Returns false if there is no such worker, or it
-- has ended.
-- Granted to: operator.
create or replace function taskq.stop_worker(_worker integer, _by text default null, _reason text default null)
returns boolean
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
declare
  ts timestamptz := clock_timestamp();
begin
  update taskq.workers
  set stop_requested_at = coalesce(stop_requested_at, ts),
    stop_requested_by = case when stop_requested_at is null then taskq.who(_by) else stop_requested_by end
  where id = _worker and stopped_at is null;
  if not found then
    return false;
  end if;
  perform taskq.record_action('stop', ts, jsonb_build_object('by', _by), _worker => _worker, _reason => _reason);
  perform taskq.notify_workers(_worker);
  return true;
end
$$;
