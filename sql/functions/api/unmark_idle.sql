-- Takes the mark of a sleeping worker away: it is awake, producers need not notify it. It waits for no lock: a mark that
-- stays costs producers a notification, until it ends.
create or replace function taskq.unmark_idle(_worker integer)
returns void
language sql security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
  delete from taskq.idle_marks
  where worker_id = (select m.worker_id from taskq.idle_marks m where m.worker_id = _worker for update skip locked)
$$;
