-- Lets a worker claim no more until taskq.resume_worker; what it has claimed ahead it gives back, at once or with its
-- next heartbeat, and what it runs, runs on. False: there is no such worker, or it has ended.
create or replace function taskq.pause_worker(_worker integer, _by text default session_user)
returns boolean
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
begin
  update taskq.workers
  set paused_at = coalesce(paused_at, clock_timestamp()),
    paused_by = case when paused_at is null then _by else paused_by end
  where id = _worker and stopped_at is null;
  if not found then
    return false;
  end if;
  perform taskq.tell_workers(_worker);
  return true;
end
$$;
