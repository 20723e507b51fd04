-- Sets what applies to tasks that say nothing, and whose type and queue say nothing, above what the configuration of
-- workers says: _settings may have what taskq.default_options names; null takes away what was set. options: by, a name beside the role's for taskq.actions.
create or replace function taskq.set_defaults(_settings jsonb, options jsonb default '{}')
returns void
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
begin
  perform taskq.refuse_unknown_options('set_defaults', options, '{by}');
  _settings := taskq.checked_options('set_defaults', _settings, taskq.default_options());
  update taskq.defaults d set operator = jsonb_strip_nulls(d.operator || _settings);
  perform taskq.apply_defaults();
  perform taskq.note_action('set', clock_timestamp(), options, _settings => _settings);
end
$$;
