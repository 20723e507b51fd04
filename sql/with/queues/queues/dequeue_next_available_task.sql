-- Claims the next due task of the queue `queues` for this session, under a lease of 5 minutes, and returns it: by
-- priority (all tasks of queues.enqueue have the same, unless their type has one), then by scheduled_at and task_id. A
-- null row: none is due. Commit before you work on the task: until then others skip it, and the lease counts from the
-- call. If queues.complete_task is not called before the lease is over, another call returns the task again: a crash
-- costs it no attempt, however often it happens.
--
-- The session is registered as a worker at its first call. It needs no heartbeat, and its lease cannot be renewed.
-- Granted to: worker.
create or replace function queues.dequeue_next_available_task()
returns queues.task
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
declare
  length_ms constant bigint := 300000;
  ts timestamptz := clock_timestamp();
  known_types constant text[] := array(select y.name from taskq.task_types y order by y.name);
  session_id constant integer := taskq.register_session('queues', length_ms, ts);
  rescued jsonb;
  claimed_no integer;
  is_running boolean;
  expires_at timestamptz;
  task queues.task;
begin
  if exists (select from taskq.workers w where w.id = session_id and w.stop_requested_at is not null) then
    return null;
  end if;
  for turn in 1 .. 2 loop
    -- Perhaps no worker looks for leases that are over, so do it here: at once if nothing else is due.
    if turn = 2 or exists (select from taskq.rescue_scan r where r.finished_at < ts - interval '5 s') then
      rescued := null;
      select r.rescued into rescued
      from taskq.begin_rescue(
        _gap_ms => case turn when 1 then 5000 else 1000 end, _page_blocks => 9223372036854775807
      ) as r;
      exit when turn = 2 and coalesce(jsonb_array_length(rescued), 0) = 0;
    end if;
    begin
      select c.id, c.lease_no, c.running into task.task_id, claimed_no, is_running
      from taskq.claim(session_id, array['queues'], known_types, 1, 0, length_ms) as c;
    exception when others then
      if sqlstate = '25000' or taskq.is_server_fault(sqlstate) then
        raise;
      end if;
      -- Something refuses the row: skip it.
      select c.id, c.lease_no, c.running into task.task_id, claimed_no, is_running
      from taskq.claim(
        session_id, array['queues'], known_types, 1, 0, length_ms, options => '{"one_by_one": true}'
      ) as c;
    end;
    exit when task.task_id is not null;
  end loop;

  ts := clock_timestamp();
  update taskq.workers w
  set heartbeat_at = ts, stopped_at = null, types = known_types,
    running = (task.task_id is not null)::integer,
    leases_until = case
      when task.task_id is not null then ts + make_interval(secs => length_ms / 1000.0) else w.leases_until
    end
  -- An operator may have locked it, or a session that looked for leases and keeps its transaction open.
  where w.id = (
    select l.id from taskq.workers l
    where l.id = session_id and (task.task_id is not null or l.heartbeat_at < ts - interval '5 s')
    for no key update skip locked
  );
  if task.task_id is null then
    return null;
  end if;
  if not is_running then
    -- A task that was lost before: claimed, but not started.
    update taskq.tasks t set status = 'running', started_at = ts
    where t.id = task.task_id and t.lease_no = claimed_no;
  end if;
  select t.type, t.payload, t.created_at, t.not_before, t.lease_expires_at
  into strict task.task_type, task.payload, task.enqueued_at, task.scheduled_at, expires_at
  from taskq.tasks t where t.id = task.task_id;
  if not exists (select from taskq.recorded_queues r where r.queue = 'queues') then
    perform taskq.insert_leases(
      array[task.task_id], array[claimed_no], array['queues'], session_id, length_ms,
      expires_at - make_interval(secs => length_ms / 1000.0)
    );
  end if;
  return task;
end
$$;
