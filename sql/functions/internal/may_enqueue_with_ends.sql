-- Returns whether the role that calls may enqueue tasks with the end of a task: a worker may be granted less.
create or replace function taskq.may_enqueue_with_ends()
returns boolean
language sql stable security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
  select has_function_privilege(
    taskq.calling_role(), 'taskq.settle_and_enqueue(integer, json, jsonb)'::regprocedure, 'execute'
  )
$$;
