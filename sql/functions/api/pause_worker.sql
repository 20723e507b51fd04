-- Lets a worker claim no more until taskq.resume_worker; what it has claimed ahead it gives back, at once or with its
-- next heartbeat, and what it runs, runs on. Who is the session's role; _by is a name beside it. False: there is no
-- such worker, or it has ended.
create or replace function taskq.pause_worker(_worker integer, _by text default null)
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
  perform taskq.note_action('pause', ts, jsonb_build_object('by', _by), _worker => _worker);
  perform taskq.tell_workers(_worker);
  return true;
end
$$;
