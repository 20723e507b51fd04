-- Returns the orders of operators for a worker, as one document: {paused, paused_by, stop, stop_by, concurrency,
-- poll_ms, lease_ms (the one wanted), in_force_ms (the lease by which others judge it), batch (null: as many as will
-- start soon), queues, paused_queues: [{queue, by, reason, until}], open_breakers: [{type, and its setting}], of the
-- types that it handles, schedules: see taskq.upcoming_schedules, operations_ms: milliseconds until the next batch of
-- an operation is due (null: there is none), followed: ids of the tasks whose logs someone follows}. Null: no such
-- worker. A worker reads it with each heartbeat.
-- Granted to: worker.
create or replace function taskq.get_orders(_worker integer)
returns jsonb
language plpgsql stable security definer
set search_path = pg_catalog, taskq, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  ts timestamptz := clock_timestamp();
begin
  return (
    select jsonb_build_object(
      'paused', w.paused_at is not null, 'paused_by', w.paused_by,
      'stop', w.stop_requested_at is not null, 'stop_by', w.stop_requested_by,
      'concurrency', w.concurrency, 'poll_ms', w.poll_ms, 'lease_ms', coalesce(w.wanted_lease_ms, w.lease_ms),
      'in_force_ms', w.lease_ms, 'batch', w.batch, 'queues', w.queues,
      'paused_queues', coalesce((
        select jsonb_agg(jsonb_build_object(
          'queue', s.name, 'by', s.paused_by, 'reason', s.pause_reason, 'until', s.paused_until
        ) order by s.name)
        from taskq.queues s
        where s.paused_at is not null and (s.paused_until is null or s.paused_until > ts)
      ), '[]'),
      'followed', array(select f.task_id::text from taskq.followed f where f.until > ts),
      'open_breakers', coalesce((
        select jsonb_agg(jsonb_build_object('type', b.type) || coalesce(y.breaker, '{}') order by b.type)
        from taskq.standing_breakers() as b
        left join taskq.task_types y on y.name = b.type
        where b.type = any (w.types)
      ), '[]'),
      'schedules', taskq.upcoming_schedules(), 'operations_ms', taskq.next_batch_ms(ts)
    )
    from taskq.workers w where w.id = _worker
  );
end
$$;
