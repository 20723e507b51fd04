-- Returns the figures of the queue: by queue and by type the live and dead tasks, how many are due and how long the
-- oldest has waited, and what ended within the last _since_ms milliseconds; and the types with waiting tasks that no
-- live worker handles. A queue or type is listed if it has any of these, or is paused; missing counts are 0. `depth`
-- counts due tasks that can run: their queue is not paused, and a live worker that is not paused serves the queue and
-- handles the type or, while no worker is alive at all, one has handled the type, so that a fleet scaled to zero is started again. `stalled`
-- lists due tasks that cannot run, by queue and type, with the reason from taskq.find_obstacles. completed_per_minute
-- counts from the first task within that time. A worker that is stopping counts as none.
--
-- Reads the live and dead tables once, and of history the partitions that can hold that time.
create or replace function taskq.stats(_since_ms bigint)
returns jsonb
language plpgsql stable security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
as $$
declare
  ts timestamptz := clock_timestamp();
  since timestamptz := ts - make_interval(secs => _since_ms / 1000.0);
  answer jsonb;
begin
  with worker as materialized (
    select w.types, w.queues, w.paused_at is not null as is_paused from taskq.workers w
    where w.stopped_at is null and w.stop_requested_at is null and w.heartbeat_at >= ts - make_interval(secs => w.lease_ms / 1000.0)
  ),
  paused as materialized (
    select s.name as queue from taskq.queues s
    where s.paused_at is not null and (s.paused_until is null or s.paused_until > ts)
  ),
  live as materialized (
    select t.queue, t.type, t.status::text as status, count(*) as tasks,
      count(*) filter (where t.lease_owner is null and t.available_at <= ts) as due,
      min(t.available_at) filter (where t.lease_owner is null and t.available_at <= ts) as oldest,
      count(*) filter (where t.lease_owner is null and t.attempts > 0) as retrying
    from taskq.tasks t
    group by t.queue, t.type, t.status
    union all
    select d.queue, d.type, 'dead', count(*), 0, null, 0 from taskq.dead_tasks d group by d.queue, d.type
  ),
  ended as materialized (
    select f.queue, f.type, f.status::text as status, count(*) as tasks,
      count(f.started_at) as ran, sum(extract(epoch from f.finished_at - f.started_at) * 1000) as ran_ms,
      min(coalesce(f.started_at, f.finished_at)) as first_at
    from taskq.finished_tasks f
    where f.finished_at >= since and (f.kept_in >= (since at time zone 'UTC')::date or f.kept_in = '-infinity')
    group by f.queue, f.type, f.status
  ),
  runnable as materialized (
    select l.queue, l.type, sum(l.due) as due
    from live l
    where l.due > 0 and not exists (select from paused p where p.queue = l.queue)
      and case when exists (select from worker)
        then exists (
          select from worker w
          where not w.is_paused and l.type = any (w.types) and (w.queues is null or l.queue = any (w.queues))
        )
        else exists (select from taskq.task_types y where y.name = l.type and y.last_seen_at is not null)
      end
    group by l.queue, l.type
  ),
  waiting as materialized (
    select l.queue, l.type, sum(l.due) as due from live l where l.due > 0 group by l.queue, l.type
  ),
  stalled as (
    select w.queue, w.type, w.due, o.reason, o.worker
    from taskq.find_obstacles(
      array(select w.queue from waiting w order by w.queue, w.type),
      array(select w.type from waiting w order by w.queue, w.type)
    ) as o
    join waiting w on w.queue = o.queue and w.type = o.type
  ),
  completed as (
    select coalesce(sum(e.tasks), 0) as tasks,
      greatest(extract(epoch from ts - greatest(since, min(e.first_at))) / 60, 1) as minutes
    from ended e where e.status = 'completed'
  )
  select jsonb_build_object(
    'at', ts,
    'since', since,
    'queues', coalesce((
      select jsonb_agg(jsonb_build_object(
        'queue', q.queue,
        'counts', jsonb_build_object('blocked', 0, 'pending', 0, 'leased', 0, 'running', 0, 'dead', 0)
          || coalesce(n.counts, '{}'),
        'due', coalesce(n.due, 0),
        'depth', coalesce((select sum(r.due) from runnable r where r.queue = q.queue), 0),
        'oldest_waiting_ms', n.oldest_waiting_ms,
        'retrying', coalesce(n.retrying, 0),
        'ended', jsonb_build_object('completed', 0, 'cancelled', 0, 'expired', 0) || coalesce(e.counts, '{}'),
        'paused', exists (select from paused p where p.queue = q.queue)
      ) order by q.queue)
      from (
        select live.queue from live union select ended.queue from ended union select paused.queue from paused
      ) as q
      left join (
        select queue, jsonb_object_agg(status, tasks) as counts, sum(due) as due,
          round(extract(epoch from ts - min(oldest)) * 1000) as oldest_waiting_ms, sum(retrying) as retrying
        from (
          select queue, status, sum(tasks) as tasks, sum(due) as due, min(oldest) as oldest, sum(retrying) as retrying
          from live group by queue, status
        ) as by_status
        group by queue
      ) as n on n.queue = q.queue
      left join (
        select queue, jsonb_object_agg(status, tasks) as counts
        from (select queue, status, sum(tasks) as tasks from ended group by queue, status) as by_status
        group by queue
      ) as e on e.queue = q.queue
    ), '[]'),
    'types', coalesce((
      select jsonb_agg(jsonb_build_object(
        'type', y.type, 'live', y.live, 'due', y.due,
        'depth', coalesce((select sum(r.due) from runnable r where r.type = y.type), 0),
        'dead', y.dead, 'completed', y.completed, 'cancelled', y.cancelled, 'expired', y.expired,
        'average_ms', round(y.ran_ms / nullif(y.ran, 0)),
        'handled', exists (select from worker w where y.type = any (w.types))
      ) order by y.type)
      from (
        select type, coalesce(sum(tasks) filter (where is_live and status <> 'dead'), 0) as live,
          coalesce(sum(due), 0) as due, coalesce(sum(tasks) filter (where status = 'dead'), 0) as dead,
          coalesce(sum(tasks) filter (where status = 'completed'), 0) as completed,
          coalesce(sum(tasks) filter (where status = 'cancelled'), 0) as cancelled,
          coalesce(sum(tasks) filter (where status = 'expired'), 0) as expired,
          sum(ran) as ran, sum(ran_ms) as ran_ms
        from (
          select type, status, true as is_live, tasks, due, null::bigint as ran, null::numeric as ran_ms from live
          union all
          select type, status, false, tasks, null,
            case when status = 'completed' then ran end, case when status = 'completed' then ran_ms end
          from ended
        ) as parts
        group by type
      ) as y
    ), '[]'),
    'due', coalesce((select sum(due) from live), 0),
    'depth', coalesce((select sum(due) from runnable), 0),
    'oldest_waiting_ms', (select round(extract(epoch from ts - min(oldest)) * 1000) from live),
    'completed', (select c.tasks from completed c),
    'completed_per_minute', (select round(c.tasks / c.minutes, 2) from completed c),
    'unhandled_types', coalesce((
      select jsonb_agg(distinct l.type order by l.type) from live l
      where l.status = 'pending' and not exists (select from worker w where l.type = any (w.types))
    ), '[]'),
    'stalled', coalesce((
      select jsonb_agg(
        jsonb_build_object('queue', s.queue, 'type', s.type, 'due', s.due, 'reason', s.reason, 'worker', s.worker)
        order by s.queue, s.type
      )
      from stalled s
    ), '[]'),
    'workers', (select count(*) from worker)
  ) into answer;
  return answer;
end
$$;
