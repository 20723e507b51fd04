-- Sets the settings of a type for tasks without their own, overriding its handler and the configuration of workers.
-- _settings may have max_attempts, timeout_ms, expires_ms, backoff, retention, queue, priority, breaker, keep_log
-- (failed, always or none), on_complete and on_dead; null removes a setting, so that theirs applies again. An unknown
-- type becomes known. on_complete and on_dead can be set only at read committed, which sees settings just made by
-- others that may close a cycle. options: by, a name recorded in taskq.audit beside the role; reason.
-- Granted to: operator.
create or replace function taskq.set_type(_type text, _settings jsonb, options jsonb default '{}')
returns void
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
declare
  before jsonb;
begin
  perform taskq.refuse_unknown_options('set_type', options, '{by,reason}');
  _settings := taskq.checked_options('set_type', coalesce(_settings, 'null'), taskq.type_options());
  perform taskq.refuse_own_callback('set_type', _type, _settings);
  perform taskq.refuse_unknown(array_remove(
    array[_settings #>> '{on_complete,type}', _settings #>> '{on_dead,type}'], null
  ), '{}');
  if _settings ?| '{on_complete,on_dead}' then
    if current_setting('transaction_isolation') <> 'read committed' then
      perform taskq.refuse_isolation('set_type');
    end if;
    lock table taskq.callback_turn in share update exclusive mode;
  end if;
  perform taskq.add_types(array[_type], options);
  select taskq.replaced_settings(t.operator, _settings) into before
  from taskq.task_types t where t.name = _type for no key update;
  update taskq.task_types t
  set operator = (
    select coalesce(jsonb_object_agg(s.name, s.value), '{}')
    from jsonb_each(t.operator || _settings) as s (name, value) where s.value <> 'null'
  )
  where t.name = _type;
  update taskq.task_types t
  set max_attempts = effective.max_attempts, timeout_ms = effective.timeout_ms, expires_ms = effective.expires_ms,
    backoff = effective.backoff, retention = effective.retention, queue = effective.queue,
    priority = effective.priority, breaker = effective.breaker, keep_log = effective.keep_log,
    on_failure = effective.on_failure, on_complete = effective.on_complete, on_dead = effective.on_dead
  from taskq.task_types old
  cross join lateral jsonb_to_record(old.registered || old.operator) as effective (
    max_attempts integer, timeout_ms bigint, expires_ms bigint, backoff jsonb, retention text, queue text,
    priority smallint, breaker jsonb, keep_log text, on_failure text, on_complete jsonb, on_dead jsonb
  )
  where t.name = _type and old.name = _type;
  -- Also if a setting is removed: that of the handler applies again.
  if _settings ?| '{on_complete,on_dead}' then
    perform taskq.refuse_callback_cycle(_type);
  end if;
  perform taskq.record_action(
    'set', clock_timestamp(), options, _type => _type, _settings => _settings, _before => before
  );
end
$$;
