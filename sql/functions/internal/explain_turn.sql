-- Explains why a due task without other obstacles has not started: `slots_busy`, if every worker that can take it had
-- all slots in use at its last heartbeat, and `behind`, with the number of tasks of its queue that these workers take
-- first. It counts only among the thousand tasks before it; more: there may be others. A task that waits for its group,
-- which has slots left, has no place among the due tasks: it is behind the tasks of its group. For the columns see
-- taskq.explain.
create or replace function taskq.explain_turn(_task taskq.tasks, _ts timestamptz)
returns table (cause text, until timestamptz, about jsonb)
language sql stable security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
as $$
  with able as materialized (
    select w.types, w.concurrency, w.running
    from taskq.workers w
    where w.stopped_at is null and w.stop_requested_at is null and w.paused_at is null
      and w.heartbeat_at >= _ts - make_interval(secs => w.lease_ms / 1000.0)
      and _task.type = any (w.types) and (w.queues is null or _task.queue = any (w.queues))
  ),
  -- The nearest first: the beginning of a level has the dead rows of claimed tasks.
  ahead as materialized (
    select before.type
    from generate_series(case when _task.gate = 'w' then -1 else _task.priority end::integer, 0, -1) as p
    cross join lateral (
      select t.type
      from taskq.tasks t
      where t.queue = _task.queue and t.priority = p and t.available_at <= _ts
        and (p < _task.priority or (t.available_at, t.id + 0) < (_task.available_at, _task.id))
        and t.lease_owner is null and taskq.may_start(t.expires_at, t.started_at, _ts)
      order by t.available_at desc, t.id + 0 desc
      limit 1000
    ) as before
    limit 1000
  ),
  in_group as materialized (select g.type from taskq.waiting_before(_task, _ts) as g (type)),
  counted as (
    select count(*) as looked, count(*) filter (
      where exists (select from able w where a.type = any (w.types))
        and not exists (select from taskq.standing_breakers() as b where b.type = a.type)
    ) as tasks
    from (table ahead union all table in_group) as a
  )
  select 'slots_busy', null::timestamptz, jsonb_build_object('workers', count(*), 'slots', sum(w.concurrency))
  from able w
  having count(*) > 0 and bool_and(w.running >= w.concurrency)
  union all
  select 'behind', null, jsonb_build_object('tasks', c.tasks, 'more', c.looked >= 1000)
  from counted c where c.tasks > 0
$$;
