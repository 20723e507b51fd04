-- Checks one task given to taskq.enqueue_many, by its place, with this type and payload. Returns the type, or raises an
-- error that describes what is wrong with the task.
create or replace function taskq.checked_task(_tasks jsonb, _place bigint, _type text, _payload jsonb)
returns text
language plpgsql stable security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
begin
  perform taskq.checked_options(
    format('task %s cannot be enqueued', _place), _tasks -> (_place - 1)::integer,
    taskq.task_options() || taskq.step_options() || array['type', 'payload']
  );
  return taskq.checked_type(_type, _payload, _place);
end
$$;
