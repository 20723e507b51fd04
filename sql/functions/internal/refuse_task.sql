-- Raises what is wrong with the options of the task at this place of the input.
create or replace function taskq.refuse_task(_tasks jsonb, _place bigint)
returns text
language plpgsql stable security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
begin
  perform taskq.checked_tasks(_tasks);
  raise exception 'task % cannot be enqueued', _place using errcode = 'invalid_parameter_value';
end
$$;
