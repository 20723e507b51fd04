-- Asks a worker to end as SIGTERM does: it claims no more, lets what runs end within its grace, gives the rest back.
-- It hears of it at once or with its next heartbeat. False: there is no such worker, or it has ended.
create or replace function taskq.stop_worker(_worker integer, _by text default session_user)
returns boolean
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
begin
  update taskq.workers
  set stop_requested_at = coalesce(stop_requested_at, clock_timestamp()),
    stop_requested_by = case when stop_requested_at is null then _by else stop_requested_by end
  where id = _worker and stopped_at is null;
  if not found then
    return false;
  end if;
  perform taskq.tell_workers(_worker);
  return true;
end
$$;
