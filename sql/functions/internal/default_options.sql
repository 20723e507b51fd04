-- Returns the names of the settings for all tasks, which a worker's configuration or an operator may set: those that a
-- queue has.
create or replace function taskq.default_options()
returns text[]
language sql immutable parallel safe
as $$
  select taskq.queue_options()
$$;
