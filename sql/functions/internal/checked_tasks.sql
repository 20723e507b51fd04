-- Checks the options of each task given to taskq.enqueue_many: refuses an unknown name and an invalid value, with the
-- place of the first one. Returns the tasks with named priorities replaced by their numbers.
create or replace function taskq.checked_tasks(_tasks jsonb)
returns jsonb
language sql stable security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
as $$
  select jsonb_agg(
    taskq.checked_options(
      format('task %s cannot be enqueued', e.place), e.task, taskq.task_options() || array['type', 'payload']
    )
    order by e.place
  )
  from jsonb_array_elements(_tasks) with ordinality as e (task, place)
$$;
