-- Records the ends of tasks, which the caller has locked and is about to delete from the live table, in taskq.events:
-- _rows are their rows there, all of queues that record events.
create or replace function taskq.record_ends(_rows tid[], _status taskq.task_status, _reason text, _ts timestamptz)
returns void
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
as $$
declare
  last_day constant date := taskq.drop_on('7d', _ts);
  place date;
begin
  perform taskq.ensure_place('events');
  place := taskq.place_of('events', last_day);
  insert into taskq.events (
    xid, id, at, task_id, workflow_id, attempts, drop_on, kept_in, status, queue, type, reason, unique_key, group_key,
    step, tags
  )
  select pg_current_xact_id(), nextval('taskq.events_id_seq'), _ts, t.id, t.workflow_id, t.attempts, last_day, place,
    _status, t.queue, t.type, case _status when 'cancelled' then coalesce(t.cancel_reason, _reason) end, t.unique_key,
    t.group_key, t.step, t.tags
  from taskq.tasks t where t.ctid = any (_rows);
end
$$;
