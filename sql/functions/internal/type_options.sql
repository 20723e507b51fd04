-- Returns the names of the settings of a type, which its handler, a worker's configuration or an operator may set.
create or replace function taskq.type_options()
returns text[]
language sql immutable parallel safe
as $$
  select array[
    'max_attempts', 'timeout_ms', 'expires_ms', 'backoff', 'retention', 'queue', 'priority', 'breaker', 'keep_log',
    'on_failure', 'on_complete', 'on_dead'
  ]
$$;
