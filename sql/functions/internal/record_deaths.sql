-- Records in taskq.events that these tasks became dead letters now, for queues that record events. Reads their dead
-- letters: some tasks were never in the live table, some have another id there.
create or replace function taskq.record_deaths(_ids bigint[], _ts timestamptz)
returns void
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
as $$
declare
  last_day constant date := taskq.drop_on('7d', _ts);
  recorded constant text[] := array(select q.name from taskq.queues q where q.record_events);
  place date;
begin
  if recorded = '{}' then
    return;
  end if;
  perform taskq.ensure_place('events');
  place := taskq.place_of('events', last_day);
  insert into taskq.events (
    xid, id, at, task_id, workflow_id, attempts, drop_on, kept_in, status, queue, type, reason, unique_key, group_key,
    step, tags
  )
  select pg_current_xact_id(), nextval('taskq.events_id_seq'), _ts, d.id, d.workflow_id, d.attempts, last_day, place,
    'dead', d.queue, d.type, d.reason, d.unique_key, d.group_key, d.step, d.tags
  from taskq.dead_tasks d where d.id = any (_ids) and d.queue || '' = any (recorded);
end
$$;
