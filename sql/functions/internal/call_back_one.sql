-- Enqueues one task of taskq.enqueue_callbacks, after an insert of all of them has failed. If it cannot be inserted, it
-- becomes a dead letter with the error as its reason; passing trouble of the server or of these functions is raised.
-- Returns the queues to wake, as taskq.insert_plain does; null: nothing.
create or replace function taskq.call_back_one(_task jsonb, _settings jsonb[], _ts timestamptz)
returns jsonb
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
as $$
declare
  wakes jsonb;
  dead_id bigint;
begin
  select i.wakes into wakes
  from taskq.insert_plain(jsonb_build_array(_task), '{}', null, _settings, _ts, true) as i;
  set constraints all immediate;
  return wakes;
exception when others then
  if taskq.is_server_fault(sqlstate) or left(sqlstate, 2) in ('08', '40', '55')
    or (left(sqlstate, 2) = '42' and not taskq.is_of_trigger(sqlstate))
  then
    raise;
  end if;
  insert into taskq.dead_tasks
  select d.*
  from jsonb_populate_record(null::taskq.given_task, jsonb_build_object(
    'id', nextval('taskq.tasks_id_seq'), 'queue', coalesce(_task ->> 'queue', 'default'), 'type', _task -> 'type',
    'priority', 2, 'payload', _task -> 'payload', 'due', _ts, 'notify_done', false,
    'traceparent', _task -> 'traceparent', 'source', _task -> 'source'
  )) as given
  cross join lateral taskq.new_task(given, _ts, session_user) as t
  cross join lateral taskq.dead_task(t, t.id, _ts, 'could not be inserted: ' || sqlerrm, false) as d
  returning id into dead_id;
  insert into taskq.counts (at, tasks, event, queue, type)
  select _ts, 1, e.event, d.queue, d.type
  from taskq.dead_tasks d cross join unnest(array['created', 'dead']) as e (event) where d.id = dead_id;
  perform taskq.record_deaths(array[dead_id], _ts);
  return null;
end
$$;
