-- Records that a worker has ended cleanly: it holds no tasks, so scans need not look for its leases. Returns false if
-- there is no such worker, or another transaction has locked its row (ask again; otherwise it is written off as
-- silent).
-- Granted to: worker.
create or replace function taskq.unregister_worker(_worker integer)
returns boolean
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
begin
  perform taskq.unmark_idle(_worker);
  update taskq.workers
  set stopped_at = clock_timestamp(), leases_until = null, running = 0, ahead = 0, timed_out = 0
  where id = (select w.id from taskq.workers w where w.id = _worker for no key update skip locked);
  return found;
end
$$;
