-- Counts the tasks of each queue and type: the live and the dead ones by status; of the waiting ones, those that are
-- due (`oldest`: since when) and those that have failed before; and by status those that ended since then. `ran`
-- completed tasks took `ran_ms` in all, and the first of the completed ones began at `began_at`; `timed_out` counts the
-- running ones whose timeout has passed. No row for a queue and type: none of these. Reads the live and dead tables
-- once, and of history the partitions that can hold that time.
create or replace function taskq.count_tasks(_since timestamptz, _ts timestamptz)
returns table (
  queue text, type text, blocked numeric, pending numeric, leased numeric, running numeric, dead numeric,
  due numeric, oldest timestamptz, retrying numeric, completed numeric, cancelled numeric, expired numeric, ran numeric,
  ran_ms numeric, began_at timestamptz, timed_out numeric
)
language sql stable security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
as $$
  select c.queue, c.type,
    coalesce(sum(c.tasks) filter (where c.status = 'blocked'), 0),
    coalesce(sum(c.tasks) filter (where c.status = 'pending'), 0),
    coalesce(sum(c.tasks) filter (where c.status = 'leased'), 0),
    coalesce(sum(c.tasks) filter (where c.status = 'running'), 0),
    coalesce(sum(c.tasks) filter (where c.status = 'dead'), 0),
    coalesce(sum(c.due), 0), min(c.oldest), coalesce(sum(c.retrying), 0),
    coalesce(sum(c.tasks) filter (where c.status = 'completed'), 0),
    coalesce(sum(c.tasks) filter (where c.status = 'cancelled'), 0),
    coalesce(sum(c.tasks) filter (where c.status = 'expired'), 0),
    sum(c.ran) filter (where c.status = 'completed'), sum(c.ran_ms) filter (where c.status = 'completed'),
    min(c.began_at) filter (where c.status = 'completed'),
    coalesce(sum(c.timed_out), 0)
  from (
    select t.queue, t.type, t.status, count(*) as tasks,
      count(*) filter (where t.lease_owner is null and t.available_at <= _ts) as due,
      min(greatest(t.available_at, timestamptz '1970-01-01 00:00Z'))
        filter (where t.lease_owner is null and t.available_at <= _ts) as oldest,
      count(*) filter (where t.lease_owner is null and t.attempts > 0) as retrying,
      null::bigint as ran, null::numeric as ran_ms, null::timestamptz as began_at,
      -- The settings are read once, before the scan: a join would cost every task something. Times are compared as
      -- numbers: a row inserted by hand may have any, and a timeout that is no interval.
      count(*) filter (
        where t.status = 'running' and (date_part('epoch', _ts) - date_part('epoch', t.started_at)) * 1000 > coalesce(
          t.timeout_ms,
          ((select jsonb_object_agg(y.name, y.timeout_ms) from taskq.task_types y) ->> t.type)::bigint,
          ((select jsonb_object_agg(q.name, q.timeout_ms) from taskq.queues q) ->> t.queue)::bigint,
          (select d.timeout_ms from taskq.defaults d)
        )
      ) as timed_out
    from taskq.tasks t
    group by t.queue, t.type, t.status
    union all
    -- Those that wait for a slot of their group are due as far as slots are free and its rate allows them.
    select w.queue, w.type, 'blocked', 0, count(*), min(w.not_before), null, null, null, null, null
    from (
      select t.queue, t.group_key, count(*) filter (where t.gate in ('h', 's')) as held,
        count(*) filter (where t.gate = 'w') as waiting
      from taskq.tasks t
      where t.gate is not null and t.group_key is not null
      group by t.queue, t.group_key
    ) as g
    cross join lateral taskq.group_slots(g.queue, g.group_key, _ts) as s (most)
    left join lateral taskq.group_rate_left(g.queue, g.group_key, s.rate, s.burst, _ts) as r on true
    cross join lateral (
      select t.queue, t.type, t.not_before from taskq.tasks t
      where t.queue || '' = g.queue and t.group_key = g.group_key and t.gate = 'w'
      order by t.priority, t.id
      limit greatest(least(s.most - g.held, g.waiting, r.slots), 0)
    ) as w
    where g.waiting > 0
    group by w.queue, w.type
    union all
    select d.queue, d.type, 'dead', count(*), null, null, null, null, null, null, null
    from taskq.dead_tasks d
    group by d.queue, d.type
    union all
    select f.queue, f.type, f.status, count(*), null, null, null,
      count(f.started_at),
      sum(least(date_part('epoch', f.finished_at) - date_part('epoch', f.started_at), 31536000)::numeric * 1000),
      min(coalesce(f.started_at, f.finished_at)), null
    from taskq.finished_tasks f
    where f.finished_at >= _since and (f.kept_in >= (_since at time zone 'UTC')::date or f.kept_in = '-infinity')
    group by f.queue, f.type, f.status
  ) as c
  group by c.queue, c.type
$$;
