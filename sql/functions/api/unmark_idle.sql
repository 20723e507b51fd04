-- Removes the mark of a sleeping worker: it is awake, and producers need not notify it. Never waits for a lock: until
-- it runs out, a mark that stays only costs producers a notification.
-- Granted to: worker.
create or replace function taskq.unmark_idle(_worker integer)
returns void
language sql security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
  -- As in taskq.mark_idle.
  select set_config('synchronous_commit', 'off', true);
  delete from taskq.idle_marks
  where worker_id = (select m.worker_id from taskq.idle_marks m where m.worker_id = _worker for update skip locked)
$$;
