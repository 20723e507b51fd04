-- Pauses a worker until taskq.resume_worker: it claims nothing more, gives back the tasks it has claimed ahead, at once
-- or with its next heartbeat, and finishes those that are running. The role of the session is recorded, with the name
-- _by beside it, and _reason in taskq.audit. Returns false if there is no such worker, or it has ended.
-- Granted to: operator.
create or replace function taskq.pause_worker(_worker integer, _by text default null, _reason text default null)
returns boolean
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
declare
  ts timestamptz := clock_timestamp();
begin
  update taskq.workers
  set paused_at = coalesce(paused_at, ts),
    paused_by = case when paused_at is null then taskq.who(_by) else paused_by end
  where id = _worker and stopped_at is null;
  if not found then
    return false;
  end if;
  perform taskq.record_action('pause', ts, jsonb_build_object('by', _by), _worker => _worker, _reason => _reason);
  perform taskq.notify_workers(_worker);
  return true;
end
$$;
