-- Says that a worker has ended in order: it holds nothing any more, and nobody need look for its leases.
create or replace function taskq.unregister_worker(_worker integer)
returns void
language sql security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
  delete from taskq.idle_marks where worker_id = _worker;
  update taskq.workers
  set stopped_at = clock_timestamp(), leases_until = null, running = 0, ahead = 0
  where id = _worker;
$$;
