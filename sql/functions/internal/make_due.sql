-- Corrects, after the clock went back, the tasks on blocks [_from, _to) of the live table whose times come from the
-- earlier clock: see taskq.time_after_step. With the first page it also corrects asks. Returns how many waiting tasks
-- it made due earlier; workers are notified. No time of a corrected task is in the future except the one at which it is
-- due, so running it again changes no task further. Never waits for a lock.
create or replace function taskq.make_due(_from bigint, _to bigint, _clock_was timestamptz, _ts timestamptz)
returns integer
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
as $$
declare
  -- Of a transaction from after the step; null: not known yet.
  clock_xid xid := (select r.clock_xid from taskq.rescue_scan r limit 1)::xid;
  rows_at tid[];
  delayed bigint[];
  hint record;
begin
  if _from = 0 then
    -- What asks at once asks by a time of the earlier clock; so do tasks of a group that wait for their time, and steps
    -- that wait for their parents. Asks that were left since ask by the clock as it is.
    update taskq.asks a set due_at = _ts
    where a.ctid = any (array(
      select l.ctid from taskq.asks l
      where l.due_at > _ts + interval '1 second' and l.task_id is null
        and (age(l.xmin) >= age(clock_xid)) is not false
        and not exists (
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
  end if;
  delayed := array(
    select t.id from taskq.tasks t
    where t.ctid >= format('(%s,0)', _from)::tid and t.ctid < format('(%s,0)', _to)::tid
      and t.gate in ('d', 'p', 'w') and t.not_before > _ts
      and taskq.time_after_step(t, _clock_was, _ts) is not null
    for update skip locked
  );
  update taskq.tasks t
  set not_before = taskq.time_after_step(t, _clock_was, _ts),
    created_at = least(t.created_at, _ts), started_at = least(t.started_at, _ts)
  where t.id = any (delayed);
  perform taskq.ask_for(delayed, _ts);
  rows_at := array(
    select t.ctid from taskq.tasks t
    where t.ctid >= format('(%s,0)', _from)::tid and t.ctid < format('(%s,0)', _to)::tid
      and t.available_at > _ts and t.available_at < 'infinity' and t.lease_owner is null
      and taskq.time_after_step(t, _clock_was, _ts) is not null
    for update skip locked
  );
  for hint in
    with due as (
      update taskq.tasks t
      set available_at = taskq.time_after_step(t, _clock_was, _ts), not_before = least(t.not_before, _ts),
        created_at = least(t.created_at, _ts), started_at = least(t.started_at, _ts)
      where t.ctid = any (rows_at)
      returning t.queue
    )
    select distinct due.queue from due
  loop
    perform taskq.wake(hint.queue, _ts, true);
  end loop;
  -- All others, so that no later scan mistakes a time written from now on for one of the earlier clock. Held tasks were
  -- due, and are due when they are put back.
  update taskq.tasks t
  set created_at = least(t.created_at, _ts), started_at = least(t.started_at, _ts),
    not_before = case when t.lease_owner is null then t.not_before else least(t.not_before, _ts) end
  where t.ctid = any (array(
    select l.ctid from taskq.tasks l
    where l.ctid >= format('(%s,0)', _from)::tid and l.ctid < format('(%s,0)', _to)::tid
      and (l.created_at > _ts or l.started_at > _ts or (l.lease_owner is not null and l.not_before > _ts))
    for no key update skip locked
  ));
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
