-- Lets a worker claim no more until taskq.resume_worker; what it runs, runs on. False: no such worker.
create or replace function taskq.pause_worker(_worker integer)
returns boolean
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
begin
  update taskq.workers set paused_at = coalesce(paused_at, clock_timestamp()) where id = _worker and stopped_at is null;
  return found;
end
$$;
