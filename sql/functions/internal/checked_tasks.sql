-- Checks the options of each task given to taskq.enqueue_many: refuses an unknown name and an invalid value, and a task
-- without a type where the whole call has none (_type), with the place of the first one, or with _by_step the name of
-- the step. Returns the tasks with named priorities replaced by their numbers.
create or replace function taskq.checked_tasks(_tasks jsonb, _type text, _by_step boolean default false)
returns jsonb
language sql stable security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
as $$
  select jsonb_agg(
    case
      when taskq.checked_type(coalesce(checked.task ->> 'type', _type), checked.task -> 'payload', e.place) is not null
      then checked.task
    end
    order by e.place
  )
  from jsonb_array_elements(_tasks) with ordinality as e (task, place)
  cross join lateral (
    select taskq.checked_options(
      case when _by_step and octet_length(e.task ->> 'step') between 1 and 200
        then 'step ' || to_json(e.task ->> 'step') else 'task ' || e.place
      end || ' cannot be enqueued', e.task,
      taskq.task_options() || taskq.step_options() || array['type', 'payload']
    ) as task
    -- `offset 0`: check each once.
    offset 0
  ) as checked
$$;
