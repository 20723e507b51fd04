-- Returns why a due task of a queue and a type cannot start, for pairs given as two arrays of equal length:
-- `queue_paused`, why no live worker can take it, or `breaker_open` (of the type). No row for a pair: it has no
-- obstacle. taskq.explain names all causes for one task.
-- Arguments: _queues and _types, the pairs.
-- Granted to: reader, operator.
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
  select distinct p.queue, p.type, why.reason, case when why.reason = h.reason then h.worker end
  from moment m
  cross join unnest(_queues, _types) as p (queue, type)
  left join hindered h on h.queue = p.queue and h.type = p.type
  cross join lateral (
    select case
      when exists (
        select from taskq.queues s
        where s.name = p.queue and s.paused_at is not null and (s.paused_until is null or s.paused_until > m.ts)
      ) then 'queue_paused'
      when h.reason is not null then h.reason
      when exists (select from taskq.standing_breakers() as b where b.type = p.type) then 'breaker_open'
    end as reason
  ) as why
  where why.reason is not null
  order by 1, 2
$$;
