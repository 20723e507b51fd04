-- Returns the names of the options that make a task a step of a workflow when it is enqueued. Apart from
-- taskq.task_options, so that tasks without them need no further check.
create or replace function taskq.step_options()
returns text[]
language sql immutable parallel safe
as $$ select array['workflow', 'step', 'after', 'on_death'] $$;
