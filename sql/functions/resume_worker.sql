-- Lets a paused worker claim again. False: no such worker, or it was not paused.
create or replace function taskq.resume_worker(_worker integer)
returns boolean
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
begin
  update taskq.workers set paused_at = null where id = _worker and paused_at is not null;
  return found;
end
$$;
