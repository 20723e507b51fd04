-- Enqueues the task of a schedule now, in addition to its ticks, paused or not; without its jitter and its delay.
-- Returns the id of the task, and whether it is new (false: that task holds the key of the schedule, whose overlap
-- allows no second task; extra is then {error} if it had to be replaced and cannot be). No row: there is no such
-- schedule. options: by, a name recorded in taskq.audit beside the role; reason.
-- Granted to: operator.
create or replace function taskq.run_schedule(_name text, options jsonb default '{}')
returns table (id bigint, created boolean, extra jsonb)
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
#variable_conflict use_column
declare
  its taskq.schedules;
begin
  perform taskq.refuse_unknown_options('run_schedule', options, '{by,reason}');
  perform taskq.refuse_name('run_schedule', 'name', _name);
  select * into its from taskq.schedules s where s.name = _name;
  if not found then
    return;
  end if;
  select made.id, made.created, jsonb_build_object('error', made.error) into id, created, extra
  from taskq.enqueue_ticks(its, array[null::timestamptz]) as made;
  extra := nullif(jsonb_strip_nulls(extra), '{}');
  perform taskq.record_action(
    'run schedule', clock_timestamp(), options, array[id], _settings => jsonb_build_object('schedule', _name)
  );
  return next;
end
$$;
