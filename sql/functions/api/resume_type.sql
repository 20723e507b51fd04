-- Closes the open breaker of a type: its tasks are claimed again, and failures count from zero. Returns false if it was
-- not open. options: by, a name recorded in taskq.actions beside the role.
-- Granted to: operator.
create or replace function taskq.resume_type(_type text, options jsonb default '{}')
returns boolean
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set lock_timeout = '1s'
as $$
declare
  was_open boolean;
begin
  perform taskq.refuse_unknown_options('resume_type', options, '{by}');
  select b.opened_at is not null into was_open from taskq.breakers b where b.type = _type for no key update;
  if was_open is not true then
    return false;
  end if;
  delete from taskq.breaker_events e where e.type = _type;
  update taskq.breakers b
  set failed_at = '{}', opened_at = null, probe_id = null, probe_owner = null, probed_at = null, probe_from = null
  where b.type = _type;
  perform taskq.record_action('resume', clock_timestamp(), options, _type => _type);
  perform taskq.notify_workers();
  perform taskq.wake_queues();
  return true;
end
$$;
