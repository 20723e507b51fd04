-- Returns the names of the settings for all tasks, which a worker's configuration or an operator may set.
create or replace function taskq.default_options()
returns text[]
language sql immutable parallel safe
as $$
  select array[
    'max_attempts', 'timeout_ms', 'expires_ms', 'backoff', 'retention', 'errors_retention', 'dead_retention'
  ]
$$;
