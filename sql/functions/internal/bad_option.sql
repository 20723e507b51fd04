-- Returns what is wrong with the value of an option, as text: `max_attempts 0: expected a whole number from 1 to …`.
create or replace function taskq.bad_option(_option text, _value jsonb)
returns text
language plpgsql stable security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
declare
  value constant text := coalesce(_value::text, 'null');
  duration constant text := 'milliseconds, a whole number from 1 to 3155760000000 (100 years)';
  expected constant text := case
    when _option in ('queue', 'type', 'name', 'group', 'step') then 'text of 1 to 200 bytes'
    when _option in ('key', 'traceparent', 'source') then 'text of 1 to 500 bytes'
    when _option = 'by' then 'text of 1 to 200 characters'
    when _option = 'priority' then '0 to 9 (0 is the most urgent, 9 the least) or critical, high, medium, low'
    when _option = 'delay_ms' then 'milliseconds, a whole number from 0 to 3155760000000 (100 years)'
    when _option in ('timeout_ms', 'expires_ms', 'ms') then duration
    when _option in ('wait_for', 'after_id') then 'the id of a task'
    when _option = 'parents' then 'an array of names of steps'
    when _option = 'max_bytes' then 'a whole number from 0 to 1073741824 (1 GB)'
    when _option = 'lease_ms' then 'milliseconds, a whole number from 100 to 86400000 (a day)'
    when _option = 'poll_ms' then 'milliseconds, a whole number from 10 to 86400000 (a day)'
    when _option in ('max_attempts', 'max_losses') then 'a whole number from 1 to 2147483647 (unlimited)'
    when _option in ('host', 'unique_part') then 'text'
    when _option = 'pid' then 'the id of a process, a whole number'
    when _option = 'worker_id' then 'the id of a worker, a whole number'
    when _option = 'types' then 'an object of types with their settings such as {"report": {}}'
    when _option in ('defaults', 'queue_settings') then 'an object'
    when _option = 'concurrency' then 'a whole number from 1 to 10000'
    when _option = 'batch' then 'auto, or a whole number from 1 to 10000'
    when _option in ('group_limit', 'limit', 'max_running') then 'a whole number from 1 to 2147483647'
    when _option in ('rate', 'group_rate') then 'n/duration such as 100/1m: n 1 to 1000000, duration 1ms to 366d'
    when _option in ('burst', 'group_burst') then 'a whole number from 1 to 100000'
    when _option = 'expression' then
      '5 or 6 cron fields that fire some day such as "30 2 * * MON-FRI", @daily, or @every 90s (at least 1s)'
    when _option = 'tz' then 'the name of a time zone such as Europe/Berlin or UTC'
    when _option = 'missed' then 'skip, latest, all, or all:n with n from 1 to 9999'
    when _option = 'overlap' then 'allow, skip or replace'
    when _option = 'jitter_ms' then 'milliseconds, a whole number from 0 to 86400000 (a day)'
    when _option in ('next_at', 'ticks') then 'a time, or an array of times, such as 2030-01-31T09:00:00Z'
    when _option = 'if_absent' then 'true or false'
    when _option = 'group_order' then 'strict or relaxed'
    when _option = 'group_on_dead' then 'go-on or hold'
    when _option = 'group_by' then 'type or none'
    when _option = 'keep_log' then 'failed, always or none'
    when _option = 'on_failure' then 'retry or complete'
    when _option = 'filter' then 'an object, as taskq.find_ids takes it'
    when _option = 'ids' then 'an array of 1 to 10000 ids of tasks'
    when _option = 'verb' then 'cancel, retry, edit, revive, rerun, discard or purge'
    when _option = 'patch' then 'an object of at most 1 MB, as of a JSON merge patch'
    when _option = 'canary' then 'a whole number from 1 to 1000'
    when _option = 'stop_at' then 'a percentage, a number from 0 to 100'
    when _option = 'expect' then 'a whole number from 0 on'
    when _option = 'reason' then 'text of at most 1000 characters'
    when _option = 'tags' then 'an object whose values are text'
    when _option in ('notify_done', 'notify', 'by_hand', 'record_leases', 'record_events') then 'true or false'
    when _option = 'into_stopping' then 'an array of ids of workflows'
    when _option = 'dry_run' then 'true or false'
    when _option = 'allow_unknown' then 'true, or an array of types'
    when _option = 'may_enqueue' then 'an array of at most 1000 names of queues'
    when _option = 'role' then 'viewer, producer, operator or admin'
    when _option = 'hash' then 'the SHA-256 of a token: 64 hexadecimal digits'
    when _option = 'queues' then 'an array of names, or null for every queue'
    when _option = 'key_for' then 'live, ever, or a period such as 3d or a number of milliseconds, at most 100 years'
    when _option = 'on_held' then 'ignore, replace or preserve'
    when _option = 'at' then 'a date and time before the year 10000, such as 2030-01-31T09:00:00Z'
    when _option in ('retention', 'errors_retention') then 'none, ever, or whole days such as 7d'
    when _option = 'dead_retention' then 'ever, or whole days such as 90d'
    when _option = 'breaker' then
      'an object such as {"failures": 5, "within_ms": 60000, "probe_after_ms": 30000}: failures 1 to 1000, within_ms '
      || '1 to 3155760000000, probe_after_ms likewise or "none"'
    when _option = 'workflow' then 'the id of a workflow'
    when _option = 'on_death' then 'cancel, continue or wait'
    when _option = 'after' then
      'an array of names of steps (text of 1 to 200 bytes), or of objects such as {"step": "a", "on_death": "wait"}: '
      || 'on_death cancel, continue or wait'
    when _option = 'steps' then 'an array of objects such as {"step": "a", "type": "resize"}'
    when _option in ('open', 'fail_fast') then 'true or false'
    when _option = 'max_dead' then 'a whole number from 0 to 999999999'
    when _option in ('on_complete', 'on_dead', 'on_step', 'on_failing', 'on_end') then
      'an object such as {"type": "report", "queue": "reports", "payload": {}}: queue and payload are optional, '
      || 'the payload an object of at most 64 KB'
    when _option = 'backoff' then
      'an object such as {"kind": "exponential", "base_ms": 5000, "factor": 2, "max_ms": 3600000, "jitter": 0.2}: '
      || 'kind fixed, linear, quadratic or exponential, base_ms and max_ms 0 to 3155760000000, factor 1 to 100, '
      || 'jitter 0 to 1'
  end;
begin
  return format(
    '%s %s: expected %s', _option, case when length(value) > 200 then left(value, 200) || '…' else value end,
    expected || case
      when jsonb_typeof(_value) <> 'string' then ''
      when _option = 'verb' then
        taskq.did_you_mean(_value #>> '{}', '{cancel,retry,edit,revive,rerun,discard,purge}')
      when _option = 'priority' then taskq.did_you_mean(_value #>> '{}', '{critical,high,medium,low}')
      when _option = 'on_held' then taskq.did_you_mean(_value #>> '{}', '{ignore,replace,preserve}')
        when _option = 'on_death' then taskq.did_you_mean(_value #>> '{}', '{cancel,continue,wait}')
      else ''
    end
  );
end
$$;
