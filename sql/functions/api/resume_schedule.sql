-- Resumes a paused schedule. Its ticks during the pause do not fire: it continues from next_at, an option (absent: a
-- worker computes it). Returns false if it was not paused. options: by, a name recorded in taskq.audit beside the role;
-- reason.
-- Granted to: operator.
create or replace function taskq.resume_schedule(_name text, options jsonb default '{}')
returns boolean
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
declare
  ts timestamptz;
begin
  perform taskq.refuse_unknown_options('resume_schedule', options, '{by,reason,next_at}');
  perform taskq.refuse_name('resume_schedule', 'name', _name);
  perform from taskq.schedules where name = _name for no key update;
  ts := clock_timestamp();
  update taskq.schedules s
  set paused_at = null, paused_by = null, pause_reason = null,
    next_at = case
      when s.next_at > ts then s.next_at
      -- A tick fires once.
      when (options ->> 'next_at')::timestamptz > s.last_tick is not false then (options ->> 'next_at')::timestamptz
    end
  where s.name = _name and s.paused_at is not null;
  if not found then
    return false;
  end if;
  perform taskq.record_action('resume schedule', ts, options, _settings => jsonb_build_object('schedule', _name));
  perform taskq.notify_workers();
  return true;
end
$$;
