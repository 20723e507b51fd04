-- The names of what can be said of all tasks: by a worker's configuration, by an operator.
create or replace function taskq.default_options()
returns text[]
language sql immutable parallel safe
as $$
  select array[
    'max_attempts', 'timeout_ms', 'expires_ms', 'backoff', 'retention', 'errors_retention', 'dead_retention'
  ]
$$;
