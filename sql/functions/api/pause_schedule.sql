-- Pauses a schedule: it fires no tick until it is resumed. Pausing again replaces who and why. The role of the session
-- is recorded, with the name _by beside it. Returns false if there is no such schedule.
-- Granted to: operator.
create or replace function taskq.pause_schedule(_name text, _by text default null, _reason text default null)
returns boolean
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
declare
  ts timestamptz;
begin
  perform taskq.refuse_name('pause_schedule', 'name', _name);
  perform from taskq.schedules where name = _name for no key update;
  ts := clock_timestamp();
  update taskq.schedules set paused_at = ts, paused_by = taskq.who(_by), pause_reason = _reason where name = _name;
  if not found then
    return false;
  end if;
  perform taskq.record_action(
    'pause schedule', ts, jsonb_build_object('by', _by), _reason => _reason,
    _settings => jsonb_build_object('schedule', _name)
  );
  return true;
end
$$;
