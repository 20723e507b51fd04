-- Lets a paused queue go on, and wakes its workers from the beginning of the queue. False: it was not paused.
create or replace function taskq.resume_queue(_queue text)
returns boolean
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
begin
  update taskq.queues
  set paused_at = null, paused_until = null, paused_by = null, pause_reason = null
  where name = _queue and paused_at is not null;
  if not found then
    return false;
  end if;
  perform taskq.wake(_queue, 'epoch', true);
  return true;
end
$$;
