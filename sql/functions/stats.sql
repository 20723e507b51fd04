-- The queue in figures: live and dead tasks by queue and status and by type, what is due and how long the oldest has
-- waited, what ended within the last _since_ms milliseconds, and the types with waiting tasks that no live worker
-- handles. Reads the live and dead tables once, and of history the partitions that can hold that time.
create or replace function taskq.stats(_since_ms bigint)
returns jsonb
language plpgsql stable security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
as $$
declare
  ts timestamptz := clock_timestamp();
  since timestamptz := ts - make_interval(secs => _since_ms / 1000.0);
  handled text[];
  answer jsonb;
begin
  handled := array(
    select distinct unnest(w.types) from taskq.workers w
    where w.stopped_at is null and w.heartbeat_at >= ts - make_interval(secs => w.lease_ms / 1000.0)
  );
  with live as materialized (
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
      count(f.started_at) as ran, sum(extract(epoch from f.finished_at - f.started_at) * 1000) as ran_ms
    from taskq.finished_tasks f
    where f.finished_at >= since and (f.kept_in >= (since at time zone 'UTC')::date or f.kept_in = '-infinity')
    group by f.queue, f.type, f.status
  )
  select jsonb_build_object(
    'at', ts,
    'since', since,
    'queues', coalesce((
      select jsonb_agg(jsonb_build_object(
        'queue', q.queue, 'counts', q.counts, 'depth', q.depth, 'oldest_waiting_ms', q.oldest_waiting_ms,
        'retrying', q.retrying, 'ended', coalesce(e.counts, '{}'),
        'paused', exists (
          select from taskq.queues s where s.name = q.queue and s.paused_at is not null
            and (s.paused_until is null or s.paused_until > ts)
        )
      ) order by q.queue)
      from (
        select queue, jsonb_object_agg(status, tasks) as counts, sum(due) as depth,
          round(extract(epoch from ts - min(oldest)) * 1000) as oldest_waiting_ms, sum(retrying) as retrying
        from (
          select queue, status, sum(tasks) as tasks, sum(due) as due, min(oldest) as oldest, sum(retrying) as retrying
          from live group by queue, status
        ) as by_status
        group by queue
      ) as q
      left join (
        select queue, jsonb_object_agg(status, tasks) as counts
        from (select queue, status, sum(tasks) as tasks from ended group by queue, status) as by_status
        group by queue
      ) as e on e.queue = q.queue
    ), '[]'),
    'types', coalesce((
      select jsonb_agg(jsonb_build_object(
        'type', y.type, 'live', y.live, 'due', y.due, 'dead', y.dead, 'completed', y.completed,
        'average_ms', round(y.ran_ms / nullif(y.ran, 0)), 'handled', y.type = any (handled)
      ) order by y.type)
      from (
        select type, sum(live) as live, sum(due) as due, sum(dead) as dead, sum(completed) as completed,
          sum(ran) as ran, sum(ran_ms) as ran_ms
        from (
          select type, case when status <> 'dead' then tasks end as live, due,
            case when status = 'dead' then tasks end as dead, null::numeric as completed, null::numeric as ran, null::numeric as ran_ms
          from live
          union all
          select type, null, null, null, tasks, ran, ran_ms from ended where status = 'completed'
        ) as parts
        group by type
      ) as y
    ), '[]'),
    'depth', coalesce((select sum(due) from live), 0),
    'oldest_waiting_ms', (select round(extract(epoch from ts - min(oldest)) * 1000) from live),
    'completed', coalesce((select sum(tasks) from ended where status = 'completed'), 0),
    'completed_per_minute', round(
      coalesce((select sum(tasks) from ended where status = 'completed'), 0) / greatest(_since_ms / 60000.0, 1), 2
    ),
    'unhandled_types', coalesce((
      select jsonb_agg(distinct type order by type) from live where status = 'pending' and type <> all (handled)
    ), '[]'),
    'workers', (
      select count(*) from taskq.workers w
      where w.stopped_at is null and w.heartbeat_at >= ts - make_interval(secs => w.lease_ms / 1000.0)
    )
  ) into answer;
  return answer;
end
$$;
