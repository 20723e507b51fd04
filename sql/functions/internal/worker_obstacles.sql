-- Returns why no live worker can take a task of a queue and a type, for pairs given as two arrays of equal length:
-- `no_worker` (none is alive), `workers_stopping` (each of them is), `queue_unserved`, `type_unhandled`,
-- `pair_unserved` (some serve the queue, others handle the type, none does both) or `worker_paused` (each that could
-- take it; worker is its id if there is only one). No row for a pair: some worker can.
create or replace function taskq.worker_obstacles(_queues text[], _types text[], _ts timestamptz)
returns table (queue text, type text, reason text, worker integer)
language sql stable security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
  with live as materialized (
    select w.id, w.types, w.queues, w.stop_requested_at is not null as is_stopping, w.paused_at is not null as is_paused
    from taskq.workers w
    where w.stopped_at is null and w.heartbeat_at >= _ts - make_interval(secs => w.lease_ms / 1000.0)
  ),
  worker as materialized (
    select l.id, l.types, l.queues, l.is_paused from live l where not l.is_stopping
  ),
  judged as (
    select distinct p.queue, p.type, able.paused,
      case
        when not exists (select from live) then 'no_worker'
        when not exists (select from worker) then 'workers_stopping'
        when not exists (select from worker w where w.queues is null or p.queue = any (w.queues)) then 'queue_unserved'
        when not exists (select from worker w where p.type = any (w.types)) then 'type_unhandled'
        when able.workers = 0 then 'pair_unserved'
        when able.workers = able.paused then 'worker_paused'
      end as reason,
      able.id
    from unnest(_queues, _types) as p (queue, type)
    cross join lateral (
      select count(*) as workers, count(*) filter (where w.is_paused) as paused, min(w.id) as id
      from worker w where p.type = any (w.types) and (w.queues is null or p.queue = any (w.queues))
    ) as able
  )
  select j.queue, j.type, j.reason, case when j.reason = 'worker_paused' and j.paused = 1 then j.id end
  from judged j where j.reason is not null
$$;
