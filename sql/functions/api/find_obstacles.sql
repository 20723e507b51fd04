-- Returns why a due task of a queue and a type cannot start, for pairs given as two arrays of equal length:
-- `queue_paused`, or why no live worker can take it (see taskq.worker_obstacles). No row for a pair: some worker can.
-- taskq.explain says the same of one task, and more.
create or replace function taskq.find_obstacles(_queues text[], _types text[])
returns table (queue text, type text, reason text, worker integer)
language sql stable security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
  with moment as materialized (
    select clock_timestamp() as ts
  ),
  hindered as materialized (
    select o.* from moment m cross join lateral taskq.worker_obstacles(_queues, _types, m.ts) as o
  )
  select distinct p.queue, p.type, coalesce(own.reason, h.reason), case when own.reason is null then h.worker end
  from moment m
  cross join unnest(_queues, _types) as p (queue, type)
  cross join lateral (
    select case
      when exists (
        select from taskq.queues s
        where s.name = p.queue and s.paused_at is not null and (s.paused_until is null or s.paused_until > m.ts)
      ) then 'queue_paused'
    end as reason
  ) as own
  left join hindered h on h.queue = p.queue and h.type = p.type
  where coalesce(own.reason, h.reason) is not null
  order by 1, 2
$$;
