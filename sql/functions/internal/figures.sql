-- Returns the rows of taskq.count_tasks, with whether a live worker handles the type, why the due tasks cannot start
-- (reason and worker: see taskq.find_obstacles; `group_paused` and `group_held`, with the group if it is the only one;
-- null: they can), and how many of them can run (depth). While no worker is alive, tasks of types that one has handled
-- can. Behind an open breaker one can, as its probe, or none if it has no probes. A stopping worker does not count.
create or replace function taskq.figures(_since timestamptz, _ts timestamptz)
returns table (
  queue text, type text, blocked numeric, pending numeric, leased numeric, running numeric, dead numeric,
  due numeric, oldest timestamptz, retrying numeric, completed numeric, cancelled numeric, expired numeric, ran numeric,
  ran_ms numeric, began_at timestamptz, timed_out numeric, handled boolean, reason text, worker integer,
  stopped_group text, depth numeric
)
language sql stable security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
as $$
  with counted as materialized (
    select c.* from taskq.count_tasks(_since, _ts) as c
  ),
  waiting as (
    select array_agg(c.queue) as queues, array_agg(c.type) as types from counted c where c.due > 0 and c.stop is null
  ),
  stalled as materialized (
    select o.* from waiting w cross join lateral taskq.find_obstacles(w.queues, w.types) as o
  )
  select c.queue, c.type, c.blocked, c.pending, c.leased, c.running, c.dead, c.due, c.oldest, c.retrying, c.completed,
    c.cancelled, c.expired, c.ran, c.ran_ms, c.began_at, c.timed_out, y.name is not null, coalesce(c.stop, s.reason),
    s.worker, c.stopped_group,
    case
      when c.stop is not null then 0
      when s.reason is null or (s.reason in ('no_worker', 'workers_stopping') and t.last_seen_at is not null) then c.due
      when s.reason = 'breaker_open' and o.probe_at is distinct from 'infinity' then 1
      else 0
    end
  from counted c
  left join stalled s on s.queue = c.queue and s.type = c.type and c.stop is null
  left join taskq.task_types t on t.name = c.type
  left join taskq.open_breakers(_ts) as o on o.type = c.type
  left join taskq.handled_types(_ts) as y on y.name = c.type
$$;
