-- Explains what keeps a queue's tasks from starting: `queue_paused`, with who paused it, why and since when;
-- `max_running`, with the limit and how many run; `rate`, with the rate, until the next task may start. For the columns
-- see taskq.explain.
create or replace function taskq.explain_queue(_queue text, _ts timestamptz)
returns table (cause text, until timestamptz, about jsonb)
language sql stable security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
  select 'queue_paused', coalesce(s.paused_until, 'infinity'),
    jsonb_build_object('since', s.paused_at, 'by', s.paused_by, 'reason', s.pause_reason)
  from taskq.queues s
  where s.name = _queue and s.paused_at is not null and (s.paused_until is null or s.paused_until > _ts)
  union all
  select 'max_running', null, jsonb_build_object('limit', l.max_running, 'running', h.running)
  from taskq.standing_limits(array[_queue]) as l
  cross join lateral (
    select count(*) as running
    from unnest(l.held) as held (id)
    cross join lateral (
      select t.queue from taskq.tasks t where t.id = held.id and t.lease_owner is not null limit 1
    ) as t
    where t.queue = _queue
  ) as h
  where h.running >= l.max_running
  union all
  select 'rate', o.at, jsonb_build_object('rate', q.rate, 'burst', l.burst)
  from taskq.standing_limits(array[_queue]) as l
  join taskq.queues q on q.name = l.queue
  cross join lateral (select taskq.next_start_at(l, _ts) as at) as o
  where o.at > _ts
$$;
