-- Wakes a worker for the asks of workflows, as taskq.wake does: one that serves this queue, else any that sleeps. Every
-- claim attends to all workflows.
create or replace function taskq.wake_any(_queue text, _ts timestamptz)
returns void
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
declare
  idle_queue text;
begin
  select case when m.queues is null or _queue = any (m.queues) then _queue else m.queues[1] end into idle_queue
  from taskq.idle_marks m
  where m.until > greatest(_ts, clock_timestamp())
  order by m.queues is null or _queue = any (m.queues) desc
  limit 1;
  if found then
    perform taskq.wake(coalesce(idle_queue, _queue), _ts, true);
  end if;
end
$$;
