-- Returns the JSON types that an option of a task, or a setting of a queue, a type or all tasks, may have; null:
-- unknown name.
create or replace function taskq.json_types(_option text)
returns text[]
language sql immutable parallel safe
as $$
  select case
    when _option in (
      'queue', 'type', 'key', 'on_held', 'group', 'at', 'retention', 'errors_retention', 'dead_retention',
      'traceparent', 'source', 'group_order', 'group_on_dead', 'group_by', 'group_rate', 'rate', 'keep_log',
      'on_failure', 'step', 'on_death', 'reason'
    ) then array['string']
    when _option in (
      'delay_ms', 'max_attempts', 'timeout_ms', 'expires_ms', 'group_limit', 'group_burst', 'max_running', 'burst',
      'max_losses'
    ) then array['number']
    when _option in ('priority', 'key_for', 'workflow') then array['string', 'number']
    when _option in ('tags', 'backoff', 'breaker', 'on_complete', 'on_dead', 'filter', 'patch') then array['object']
    when _option in ('notify_done', 'notify', 'by_hand', 'record_leases', 'record_events') then array['boolean']
    when _option in ('may_enqueue', 'after', 'into_stopping', 'queues') then array['array']
    when _option = 'allow_unknown' then array['boolean', 'array']
  end
$$;
