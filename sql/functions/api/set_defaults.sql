-- Sets the defaults for tasks without a setting of their own, of their type or of their queue, overriding the
-- configuration of workers. _settings may have max_attempts (2147483647: unlimited), timeout_ms, expires_ms, backoff,
-- retention, errors_retention and dead_retention; null removes a setting. options: by, a name recorded in taskq.audit
-- beside the role; reason.
-- Granted to: operator.
create or replace function taskq.set_defaults(_settings jsonb, options jsonb default '{}')
returns void
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
declare
  before jsonb;
begin
  perform taskq.refuse_unknown_options('set_defaults', options, '{by,reason}');
  _settings := taskq.checked_options('set_defaults', coalesce(_settings, 'null'), taskq.default_options());
  select taskq.replaced_settings(d.operator, _settings) into before from taskq.defaults d for no key update;
  update taskq.defaults d set operator = jsonb_strip_nulls(d.operator || _settings);
  perform taskq.apply_defaults();
  perform taskq.record_action('set', clock_timestamp(), options, _settings => _settings, _before => before);
end
$$;
