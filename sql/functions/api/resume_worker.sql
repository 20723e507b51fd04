-- Lets a paused worker claim again, at once. Returns false if there is no such worker, or it was not paused. options:
-- by, a name recorded in taskq.audit beside the role; reason.
-- Granted to: operator.
create or replace function taskq.resume_worker(_worker integer, options jsonb default '{}')
returns boolean
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
begin
  perform taskq.refuse_unknown_options('resume_worker', options, '{by,reason}');
  update taskq.workers set paused_at = null, paused_by = null where id = _worker and paused_at is not null;
  if not found then
    return false;
  end if;
  perform taskq.record_action('resume', clock_timestamp(), options, _worker => _worker);
  perform taskq.notify_workers(_worker);
  perform taskq.wake(queue, 'epoch', true) from taskq.find_queues() as queue;
  return true;
end
$$;
