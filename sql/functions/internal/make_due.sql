-- Corrects, after the clock went back, the waiting tasks on blocks [_from, _to) of the live table whose times come from
-- the earlier clock, as a time that is still in the future shows. A task enqueued to run at once, or due by that clock
-- (_clock_was: the latest time known from it), is due now; a task waiting for a retry waits as long as before, from now
-- on. A requested time that had not come stays. Also corrects asks, and, with the first page, schedules. Returns how
-- many tasks it corrected; workers are notified. Running it again changes no task further. Never waits for a lock.
create or replace function taskq.make_due(_from bigint, _to bigint, _clock_was timestamptz, _ts timestamptz)
returns integer
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
as $$
declare
  rows_at tid[];
  delayed bigint[];
  hint record;
begin
  if _from = 0 then
    perform taskq.rewind_schedules(_ts, _clock_was);
  end if;
  -- What asks at once asks by a time of the earlier clock; so do tasks of a group that wait for their time, and steps
  -- that wait for their parents.
  update taskq.asks a set due_at = _ts
  where a.ctid = any (array(
    select l.ctid from taskq.asks l
    where l.due_at > _ts + interval '1 second' and l.task_id is null and not exists (
      select from taskq.tasks t
      where t.queue || '' = l.queue and t.group_key = l.key and t.gate = 's' and t.available_at = l.due_at
    )
    for update skip locked
  ));
  -- What workflows ask for is due within seconds.
  update taskq.workflow_asks a set due_at = _ts
  where a.ctid = any (array(
    select l.ctid from taskq.workflow_asks l where l.due_at > _ts + interval '6 seconds' for update skip locked
  ));
  delayed := array(
    select t.id from taskq.tasks t
    where t.ctid >= format('(%s,0)', _from)::tid and t.ctid < format('(%s,0)', _to)::tid
      and t.gate in ('d', 'p', 'w') and t.not_before > _ts
      and (
        (t.created_at > _ts and t.not_before <= greatest(_clock_was, t.created_at))
        or (t.started_at > _ts and t.not_before >= t.started_at)
      )
    for update skip locked
  );
  update taskq.tasks t
  set not_before = case
      when t.created_at > _ts and t.not_before <= greatest(_clock_was, t.created_at) then _ts
      else _ts + (t.not_before - t.started_at) end,
    started_at = least(t.started_at, _ts)
  where t.id = any (delayed);
  perform taskq.ask_for(delayed, _ts);
  rows_at := array(
    select t.ctid from taskq.tasks t
    where t.ctid >= format('(%s,0)', _from)::tid and t.ctid < format('(%s,0)', _to)::tid
      and t.available_at > _ts and t.available_at < 'infinity' and t.lease_owner is null
      and (
        -- The tasks of a bulk are available a little after they are due: see taskq.new_task.
        (
          t.created_at > _ts and greatest(_clock_was, t.created_at)
            >= case when t.started_at is null then t.not_before else t.available_at end
        )
        or (t.started_at > _ts and t.available_at >= t.started_at)
      )
    for update skip locked
  );
  for hint in
    with due as (
      update taskq.tasks t
      set available_at = case
          when t.created_at > _ts and greatest(_clock_was, t.created_at)
            >= case when t.started_at is null then t.not_before else t.available_at end
          then _ts
          else _ts + (t.available_at - t.started_at) end,
        started_at = least(t.started_at, _ts)
      where t.ctid = any (rows_at)
      returning t.queue
    )
    select distinct due.queue from due
  loop
    perform taskq.wake(hint.queue, _ts, true);
  end loop;
  -- A group that one of its tasks stops asks when the time of that has come.
  insert into taskq.asks (due_at, queue, key)
  select t.available_at, t.queue, t.group_key from taskq.tasks t
  where t.ctid >= format('(%s,0)', _from)::tid and t.ctid < format('(%s,0)', _to)::tid
    and t.gate = 's' and t.lease_owner is null and t.available_at > _ts and not exists (
      select from taskq.asks a
      where a.queue || '' = t.queue and a.key = t.group_key and a.due_at = t.available_at
    );
  return cardinality(rows_at) + cardinality(delayed);
end
$$;
