-- Sets how many tasks of a group have a slot at a time, overriding its queue. _settings: {"limit": n}; null removes it,
-- so that the limit of the queue applies again. A group needs no task to be set. options: by, a name recorded in
-- taskq.actions beside the role.
create or replace function taskq.set_group(_queue text, _group text, _settings jsonb, options jsonb default '{}')
returns void
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
declare
  ts timestamptz;
begin
  perform taskq.checked_options('set_group', options, '{by}');
  perform taskq.refuse_name('set_group', 'queue', _queue);
  perform taskq.refuse_name('set_group', 'group', _group);
  perform taskq.refuse_unknown_options('set_group', _settings, '{limit}');
  if not taskq.options_are_valid(jsonb_build_object('group_limit', _settings -> 'limit')) then
    perform taskq.refuse_option('set_group', 'limit', _settings -> 'limit');
  end if;
  insert into taskq.groups (queue, key, group_limit) values (_queue, _group, (_settings ->> 'limit')::integer)
  on conflict (queue, key) do update
  set group_limit = case when _settings ? 'limit' then excluded.group_limit else groups.group_limit end;
  ts := clock_timestamp();
  insert into taskq.asks (due_at, queue, key) values (ts, _queue, _group);
  perform taskq.record_action(
    'set group', ts, options, _queue => _queue, _settings => jsonb_build_object('group', _group) || _settings
  );
  perform taskq.wake(_queue, ts);
end
$$;
