-- Moves these waiting tasks, which the caller has locked, to another queue, with the keys that they hold for a period.
-- None of them has a slot of a group. One that is in no group gets into that of its type, if the queue has such groups.
--
-- Waits 50 ms at most for a key that another session is about to take or to release, or for the row of a step: that
-- session may be waiting for one of these tasks. Fails with 23505 if the key is taken meanwhile.
create or replace function taskq.move_tasks(_ids bigint[], _queue text, _ts timestamptz)
returns void
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
set lock_timeout = '50ms'
as $$
declare
  grouped bigint[] := array(
    select t.id from taskq.tasks t
    where t.id = any (_ids) and t.group_key is null
      and (select q.group_by from taskq.queues q where q.name = _queue) = 'type'
  );
begin
  delete from taskq.held_keys h
  where h.queue = _queue and h.until <= _ts
    and h.key = any (array(
      select t.unique_key from taskq.tasks t where t.id = any (_ids) and t.unique_key is not null
    ));
  update taskq.held_keys h set queue = _queue
  from taskq.tasks t
  where t.id = any (_ids) and h.queue = t.queue and h.key = t.unique_key and h.task_id = t.id;
  update taskq.workflow_steps s set queue = _queue
  from taskq.tasks t
  where t.id = any (_ids) and s.workflow_id = t.workflow_id and s.step = t.step and s.task_id = t.id;
  update taskq.tasks t
  set queue = _queue, available_at = greatest(t.available_at, _ts),
    group_key = case when t.id = any (grouped) then t.type else t.group_key end
  where t.id = any (_ids);
  if cardinality(taskq.find_losers(_ids)) > 0 then
    raise exception 'another task has taken the key in queue "%"', _queue
      using errcode = 'unique_violation', constraint = 'tasks_live_key';
  end if;
  -- Makes them wait for a slot, or first for their time.
  perform taskq.take_slots_back(
    array(select t.id from taskq.tasks t where t.id = any (grouped) and t.gate is null), _ts
  );
end
$$;
