-- Returns why no live worker can take a due task of a queue and a type, for pairs given as two arrays of equal length:
-- `queue_paused`, `no_worker` (none is alive), `queue_unserved`, `type_unhandled`, or `pair_unserved` (some serve the
-- queue, others handle the type, none does both). No row for a pair: some worker can.
create or replace function taskq.find_obstacles(_queues text[], _types text[])
returns table (queue text, type text, reason text)
language sql stable security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
  with moment as materialized (
    select clock_timestamp() as ts
  ),
  worker as materialized (
    select w.types, w.queues
    from moment m, taskq.workers w
    where w.stopped_at is null and w.heartbeat_at >= m.ts - make_interval(secs => w.lease_ms / 1000.0)
  ),
  judged as (
    select distinct p.queue, p.type,
      case
        when exists (
          select from taskq.queues s
          where s.name = p.queue and s.paused_at is not null and (s.paused_until is null or s.paused_until > m.ts)
        ) then 'queue_paused'
        when not exists (select from worker) then 'no_worker'
        when not exists (select from worker w where w.queues is null or p.queue = any (w.queues)) then 'queue_unserved'
        when not exists (select from worker w where p.type = any (w.types)) then 'type_unhandled'
        when not exists (
          select from worker w where p.type = any (w.types) and (w.queues is null or p.queue = any (w.queues))
        ) then 'pair_unserved'
      end as reason
    from moment m, unnest(_queues, _types) as p (queue, type)
  )
  select j.queue, j.type, j.reason from judged j where j.reason is not null order by j.queue, j.type
$$;
