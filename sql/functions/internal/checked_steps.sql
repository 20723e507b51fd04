-- Checks the steps given to taskq.enqueue_many or taskq.run_workflow as taskq.checked_tasks does, but checks each in
-- detail only if one of them looks wrong [10,000 steps: 0.2 s, not 1.2 s]. Input that is unreadable nevertheless fails
-- when it is read.
create or replace function taskq.checked_steps(_tasks jsonb, _type text, _by_step boolean default false)
returns jsonb
language plpgsql stable security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
as $$
declare
  known constant text[] := taskq.task_options() || taskq.step_options() || array['type', 'payload'];
begin
  -- A single step is not read again when its insert fails, so check it in detail.
  if jsonb_array_length(_tasks) = 1 or (_tasks @@ taskq.needs_check_path()) is not false or exists (
    select from jsonb_array_elements(_tasks) as e (task)
    where jsonb_typeof(e.task) <> 'object' or e.task - known <> '{}' or not taskq.is_step(e.task)
      or coalesce(e.task ->> 'type', _type, '') = ''
  ) then
    return taskq.checked_tasks(_tasks, _type, _by_step);
  end if;
  return _tasks;
end
$$;
