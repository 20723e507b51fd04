-- Lets every worker look through each queue that has a task from its beginning, as after taskq.resume_queue.
create or replace function taskq.wake_queues()
returns void
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
declare
  queue_name text;
begin
  for queue_name in select taskq.find_queues() loop
    perform taskq.wake(queue_name, 'epoch', true);
  end loop;
end
$$;
