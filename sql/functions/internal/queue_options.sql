-- The names of what can be said of the tasks of a queue: by a worker's configuration, by an operator.
create or replace function taskq.queue_options()
returns text[]
language sql immutable parallel safe
as $$
  select array[
    'max_attempts', 'timeout_ms', 'expires_ms', 'backoff', 'retention', 'errors_retention', 'dead_retention'
  ]
$$;
