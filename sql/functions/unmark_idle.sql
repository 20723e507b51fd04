-- Takes the mark of a sleeping worker away: it is awake, producers need not notify it.
create or replace function taskq.unmark_idle(_worker integer)
returns void
language sql security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
  delete from taskq.idle_marks where worker_id = _worker
$$;
