-- Returns the names of the options of a task when it is enqueued, besides its type and its payload.
create or replace function taskq.task_options()
returns text[]
language sql immutable parallel safe
as $$
  select array[
    'queue', 'priority', 'delay_ms', 'at', 'max_attempts', 'timeout_ms', 'expires_ms', 'group', 'key', 'key_for',
    'on_held', 'tags', 'retention', 'backoff', 'traceparent', 'notify_done', 'source',
    'on_complete', 'on_dead'
  ]
$$;
