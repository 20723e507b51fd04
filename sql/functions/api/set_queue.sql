-- Sets the settings of a queue for tasks without a setting of their own or of their type, overriding the configuration
-- of workers. _settings may have those of taskq.set_defaults, and group_limit, group_rate, group_burst, group_order,
-- group_on_dead and group_by (of its groups), max_running, rate (text such as 100/1m) and burst, may_enqueue (an array
-- of the queues where its handlers may enqueue), max_losses, record_leases and record_events; null removes a setting,
-- so that the configuration applies again. options: by, a name recorded in taskq.audit beside the role; reason.
-- Granted to: operator.
create or replace function taskq.set_queue(_queue text, _settings jsonb, options jsonb default '{}')
returns void
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
declare
  burst text;
  before jsonb;
begin
  perform taskq.refuse_unknown_options('set_queue', options, '{by,reason}');
  perform taskq.refuse_name('set_queue', 'queue', _queue);
  _settings := taskq.checked_options('set_queue', coalesce(_settings, 'null'), taskq.queue_options());
  insert into taskq.queues (name) values (_queue) on conflict (name) do nothing;
  select o.burst into burst
  from (values ('burst', 'rate'), ('group_burst', 'group_rate')) as o (burst, rate)
  where _settings ->> o.burst is not null and _settings ->> o.rate is null and not exists (
    select from taskq.queues q
    where q.name = _queue and to_jsonb(q) ->> o.rate is not null and not _settings ? o.rate
  )
  limit 1;
  if found then
    raise exception 'set_queue: % % needs a rate', burst, _settings -> burst
      using errcode = 'invalid_parameter_value', constraint = 'a_burst_needs_a_rate';
  end if;
  select taskq.replaced_settings(q.operator, _settings) into before
  from taskq.queues q where q.name = _queue for no key update;
  update taskq.queues q set operator = jsonb_strip_nulls(q.operator || _settings) where q.name = _queue;
  perform taskq.apply_queues(array[_queue]);
  perform taskq.wake(_queue, clock_timestamp());
  perform taskq.record_action(
    'set', clock_timestamp(), options, _queue => _queue, _settings => _settings, _before => before
  );
end
$$;
