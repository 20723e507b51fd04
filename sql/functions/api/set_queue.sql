-- Sets what applies to the tasks of a queue that do not say it themselves and whose type does not: _settings may have
-- max_attempts, timeout_ms, expires_ms, backoff, retention, errors_retention and dead_retention; null unsets one.
-- options: by, a name beside the role's for taskq.actions.
create or replace function taskq.set_queue(_queue text, _settings jsonb, options jsonb default '{}')
returns void
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
begin
  perform taskq.refuse_unknown_options('set_queue', options, '{by}');
  if octet_length(_queue) not between 1 and 200 then
    perform taskq.refuse_option('set_queue', 'queue', to_jsonb(_queue));
  end if;
  perform taskq.checked_options('set_queue', _settings, array[
    'max_attempts', 'timeout_ms', 'expires_ms', 'backoff', 'retention', 'errors_retention', 'dead_retention'
  ]);
  insert into taskq.queues (name) values (_queue) on conflict (name) do nothing;
  update taskq.queues q
  set max_attempts = said.max_attempts, timeout_ms = said.timeout_ms, expires_ms = said.expires_ms,
    backoff = said.backoff, retention = said.retention, errors_retention = said.errors_retention, dead_retention = said.dead_retention
  from taskq.queues old
  -- What _settings does not have stays as it is.
  cross join lateral jsonb_populate_record(old, _settings) as said
  where q.name = _queue and old.name = _queue;
  perform taskq.note_action('set', clock_timestamp(), options, _queue => _queue, _settings => _settings);
end
$$;
