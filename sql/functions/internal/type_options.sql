-- The names of what can be said of the tasks of a type: by its handler, by a worker's configuration, by an operator.
create or replace function taskq.type_options()
returns text[]
language sql immutable parallel safe
as $$
  select array['max_attempts', 'timeout_ms', 'expires_ms', 'backoff', 'retention', 'queue', 'priority']
$$;
