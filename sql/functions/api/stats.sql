-- Returns the figures of the queue: by queue and by type the live and dead tasks, how many are due and how long the
-- oldest has waited, and what ended within the last _since_ms milliseconds; and the types with waiting tasks that no
-- live worker handles. A queue or type is listed if it has any of these, or is paused; missing counts are 0. A queue is
-- `limited_by` its max_running while as many run, and by its rate until the next may start, if tasks are due. `depth`
-- counts due tasks that can run: nothing keeps live workers from them (see taskq.find_obstacles) or, while no worker is
-- alive, one has handled the type, so that a fleet scaled to zero is started again. `stalled` lists due tasks that
-- cannot run, by queue, type and reason; those of a group that is paused or held at a dead letter (`group_paused`,
-- `group_held`) are due, too, and `group` is it, if it is the only one. `timed_out` counts running tasks whose timeout
-- has passed and whose handler has not ended. completed_per_minute counts from the first task within that time. A
-- worker that is stopping counts as none.
-- Granted to: reader, operator.
create or replace function taskq.stats(_since_ms bigint)
returns jsonb
language plpgsql stable security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
as $$
declare
  ts timestamptz := clock_timestamp();
  since timestamptz := ts - make_interval(secs => _since_ms / 1000.0);
begin
  return (
    with figure as materialized (
      select f.* from taskq.figures(since, ts) as f
    ),
    of_queue as (
      select coalesce(f.queue, p.name) as queue, bool_or(p.name is not null) as paused,
        coalesce(sum(f.blocked), 0) as blocked, coalesce(sum(f.pending), 0) as pending,
        coalesce(sum(f.leased), 0) as leased, coalesce(sum(f.running), 0) as running, coalesce(sum(f.dead), 0) as dead,
        coalesce(sum(f.due), 0) as due, coalesce(sum(f.depth), 0) as depth, min(f.oldest) as oldest,
        coalesce(sum(f.retrying), 0) as retrying, coalesce(sum(f.completed), 0) as completed,
        coalesce(sum(f.cancelled), 0) as cancelled, coalesce(sum(f.expired), 0) as expired,
        coalesce(sum(f.timed_out), 0) as timed_out
      from figure f
      full join (
        select s.name from taskq.queues s
        where s.paused_at is not null and (s.paused_until is null or s.paused_until > ts)
      ) as p on p.name = f.queue
      group by 1
    ),
    of_type as (
      select f.type, sum(f.blocked + f.pending + f.leased + f.running) as live, sum(f.due) as due,
        sum(f.depth) as depth, sum(f.dead) as dead, sum(f.completed) as completed, sum(f.cancelled) as cancelled,
        sum(f.expired) as expired, round(sum(f.ran_ms) / nullif(sum(f.ran), 0)) as average_ms,
        bool_or(f.handled) as handled, sum(f.timed_out) as timed_out
      from figure f
      group by f.type
    ),
    in_all as (
      select coalesce(sum(f.due), 0) as due, coalesce(sum(f.depth), 0) as depth, min(f.oldest) as oldest,
        coalesce(sum(f.completed), 0) as completed,
        greatest(extract(epoch from ts - greatest(since, min(f.began_at))) / 60, 1) as minutes,
        array_agg(distinct f.type) filter (where f.pending + f.blocked > 0 and not f.handled) as unhandled
      from figure f
    )
    select jsonb_build_object(
      'at', ts,
      'since', since,
      'queues', coalesce((
        select jsonb_agg(jsonb_build_object(
          'queue', q.queue,
          'counts', jsonb_build_object(
            'blocked', q.blocked, 'pending', q.pending, 'leased', q.leased, 'running', q.running, 'dead', q.dead
          ),
          'due', q.due,
          'depth', q.depth,
          'oldest_waiting_ms', round(extract(epoch from ts - q.oldest) * 1000),
          'retrying', q.retrying,
          'timed_out', q.timed_out,
          'ended', jsonb_build_object('completed', q.completed, 'cancelled', q.cancelled, 'expired', q.expired),
          'paused', q.paused,
          'limited_by', case
            when q.due = 0 then null
            when q.leased + q.running >= l.max_running then 'max_running'
            when taskq.next_start_at(l, ts) > ts then 'rate'
          end
        ) order by q.queue collate "C")
        from of_queue q
        left join taskq.standing_limits(array(select r.queue from of_queue r)) as l on l.queue = q.queue
      ), '[]'),
      'types', coalesce((select jsonb_agg(to_jsonb(y) order by y.type collate "C") from of_type y), '[]'),
      'due', a.due,
      'depth', a.depth,
      'oldest_waiting_ms', round(extract(epoch from ts - a.oldest) * 1000),
      'completed', a.completed,
      'completed_per_minute', round(a.completed / a.minutes, 2),
      'unhandled_types', coalesce(to_jsonb(a.unhandled), '[]'),
      'stalled', coalesce((
        select jsonb_agg(
          jsonb_build_object(
            'queue', s.queue, 'type', s.type, 'due', s.due, 'reason', s.reason, 'worker', s.worker,
            'group', s.stopped_group
          )
          order by s.queue collate "C", s.type collate "C", s.reason collate "C"
        )
        from figure s where s.reason is not null
      ), '[]'),
      'workers', (
        select count(*) from taskq.workers w
        where w.stopped_at is null and w.stop_requested_at is null
          and w.heartbeat_at >= ts - make_interval(secs => w.lease_ms / 1000.0)
      )
    )
    from in_all a
  );
end
$$;
