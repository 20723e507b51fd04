-- Removes a schedule: it fires no more. The tasks that it has enqueued stay. Returns false if there is no such
-- schedule. options: by, a name recorded in taskq.audit beside the role; reason.
-- Granted to: operator.
create or replace function taskq.remove_schedule(_name text, options jsonb default '{}')
returns boolean
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
begin
  perform taskq.refuse_unknown_options('remove_schedule', options, '{by,reason}');
  perform taskq.refuse_name('remove_schedule', 'name', _name);
  delete from taskq.schedules where name = _name;
  if not found then
    return false;
  end if;
  perform taskq.record_action(
    'remove schedule', clock_timestamp(), options, _settings => jsonb_build_object('schedule', _name)
  );
  return true;
end
$$;
