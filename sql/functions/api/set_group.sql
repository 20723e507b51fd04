-- Sets how many tasks of a group have a slot at a time, and at what rate they get one, overriding its queue. _settings:
-- {"limit": n, "rate": "100/1m", "burst": n}; null removes a setting, so that the queue's applies again, and the burst
-- goes with the rate. A group needs no task to be set. options: by, a name recorded in taskq.audit beside the role;
-- reason.
-- Granted to: operator.
create or replace function taskq.set_group(_queue text, _group text, _settings jsonb, options jsonb default '{}')
returns void
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
declare
  before jsonb;
  ts timestamptz;
  setting record;
begin
  perform taskq.checked_options('set_group', options, '{by,reason}');
  perform taskq.refuse_name('set_group', 'queue', _queue);
  perform taskq.refuse_name('set_group', 'group', _group);
  perform taskq.refuse_unknown_options('set_group', coalesce(_settings, 'null'), '{limit,rate,burst}');
  for setting in select o.name, o.value from jsonb_each(_settings) as o (name, value) loop
    if not taskq.options_are_valid(
      jsonb_build_object(case setting.name when 'limit' then 'group_limit' else setting.name end, setting.value)
    ) then
      perform taskq.refuse_option('set_group', setting.name, setting.value);
    end if;
  end loop;
  insert into taskq.groups (queue, key) values (_queue, _group) on conflict (queue, key) do nothing;
  if _settings ->> 'burst' is not null and _settings ->> 'rate' is null and not exists (
    select from taskq.groups g
    where g.queue = _queue and g.key = _group and g.rate is not null and not _settings ? 'rate'
  ) then
    raise exception 'set_group: burst % needs a rate', _settings -> 'burst'
      using errcode = 'invalid_parameter_value', constraint = 'a_burst_needs_a_rate';
  end if;
  select taskq.replaced_settings(to_jsonb(g) || jsonb_build_object('limit', g.group_limit), _settings) into before
  from taskq.groups g where g.queue = _queue and g.key = _group for no key update;
  update taskq.groups g
  set group_limit = case when _settings ? 'limit' then (_settings ->> 'limit')::integer else g.group_limit end,
    rate = case when _settings ? 'rate' then _settings ->> 'rate' else g.rate end,
    burst = case
      when _settings ? 'burst' or (_settings ? 'rate' and _settings ->> 'rate' is null)
        then (_settings ->> 'burst')::integer
      else g.burst
    end
  where g.queue = _queue and g.key = _group;
  ts := clock_timestamp();
  insert into taskq.asks (due_at, queue, key) values (ts, _queue, _group);
  perform taskq.record_action(
    'set group', ts, options, _queue => _queue, _settings => jsonb_build_object('group', _group) || _settings,
    _before => before
  );
  perform taskq.wake(_queue, ts);
end
$$;
