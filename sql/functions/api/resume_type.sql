-- Closes the open breaker of a type: its tasks are claimed again, and failures count from zero. Returns false if it was
-- not open. options: by, a name recorded in taskq.audit beside the role; reason.
--
-- Locks nothing: the next claim after the commit closes it.
-- Granted to: operator.
create or replace function taskq.resume_type(_type text, options jsonb default '{}')
returns boolean
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
begin
  perform taskq.refuse_unknown_options('resume_type', options, '{by,reason}');
  if not exists (select from taskq.standing_breakers() as b where b.type = _type) then
    return false;
  end if;
  insert into taskq.breaker_events (type, at, is_resume) values (_type, clock_timestamp(), true);
  perform taskq.record_action('resume', clock_timestamp(), options, _type => _type);
  perform taskq.notify_workers();
  perform taskq.wake_queues();
  return true;
end
$$;
