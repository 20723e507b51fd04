-- Returns the status of a step as that of a task: of the task itself while it is live, else how it ended; `gone` if its
-- row was deleted by hand. Inlined into its callers.
create or replace function taskq.step_status(_step text, _task taskq.task_status)
returns text
language sql stable parallel safe
as $$
  select case when _task is not null then _task::text when _step in ('waiting', 'released') then 'gone' else _step end
$$;
