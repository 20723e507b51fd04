-- Resumes a paused queue, and wakes its workers from the beginning of the queue. Returns false if it was not paused, or
-- its pause had run out. options: by, a name recorded in taskq.audit beside the role; reason.
-- Granted to: operator.
create or replace function taskq.resume_queue(_queue text, options jsonb default '{}')
returns boolean
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
declare
  ts timestamptz := clock_timestamp();
  was_paused boolean;
begin
  perform taskq.refuse_unknown_options('resume_queue', options, '{by,reason}');
  select s.paused_until is null or s.paused_until > ts into was_paused
  from taskq.queues s where s.name = _queue and s.paused_at is not null
  for no key update;
  if was_paused is null then
    return false;
  end if;
  update taskq.queues
  set paused_at = null, paused_until = null, paused_by = null, pause_reason = null
  where name = _queue;
  perform taskq.record_action('resume', ts, options, _queue => _queue);
  perform taskq.notify_workers();
  perform taskq.wake(_queue, 'epoch', true);
  return was_paused;
end
$$;
