-- Resumes a paused group. Returns false if it was not paused. options: by, a name recorded in taskq.audit beside the
-- role; reason.
-- Granted to: operator.
create or replace function taskq.resume_group(_queue text, _group text, options jsonb default '{}')
returns boolean
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
declare
  ts timestamptz := clock_timestamp();
begin
  perform taskq.checked_options('resume_group', options, '{by,reason}');
  perform taskq.refuse_name('resume_group', 'queue', _queue);
  perform taskq.refuse_name('resume_group', 'group', _group);
  update taskq.groups g
  set paused_at = null, paused_by = null, pause_reason = null
  where g.queue = _queue and g.key = _group and g.paused_at is not null;
  if not found then
    return false;
  end if;
  insert into taskq.asks (due_at, queue, key) values (ts, _queue, _group);
  perform taskq.record_action(
    'resume group', ts, options, _queue => _queue, _settings => jsonb_build_object('group', _group)
  );
  perform taskq.wake(_queue, ts);
  return true;
end
$$;
