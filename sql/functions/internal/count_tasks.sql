-- Counts the tasks of each queue and type: the live and the dead ones by status; of the waiting ones, those that are
-- due (`oldest`: since when) and those that have failed before; and by status those that ended since then. `ran`
-- completed tasks took `ran_ms` in all, and the first of the completed ones began at `began_at`; `timed_out` counts the
-- running ones whose timeout has passed. No row for a queue and type: none of these.
--
-- The due tasks that wait in stopped groups have separate rows, with the reason in `stop` (`group_paused`, or
-- `group_held`: at a dead letter; null: in no such group) and in `stopped_group` the group, if it is the only one.
-- Those of a group that one of its tasks has put off are not due: it goes on by itself.
--
-- Counts as due what only the next claim would make due, because no worker may be running: grouped tasks whose time has
-- come, and one step of each workflow that a claim has to attend to, which it may release.
--
-- Reads the live table twice and the dead one once, both also by group where tasks wait for a slot, and of history the
-- partitions that can hold that time.
create or replace function taskq.count_tasks(_since timestamptz, _ts timestamptz)
returns table (
  queue text, type text, blocked numeric, pending numeric, leased numeric, running numeric, dead numeric,
  due numeric, oldest timestamptz, retrying numeric, completed numeric, cancelled numeric, expired numeric, ran numeric,
  ran_ms numeric, began_at timestamptz, timed_out numeric, stop text, stopped_group text
)
language sql stable security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
as $$
  with gated as materialized (
    select t.queue, t.group_key, t.type, count(*) filter (where t.gate in ('h', 's')) as held,
      count(*) filter (where due.ready) as ready,
      min(greatest(t.available_at, timestamptz '1970-01-01 00:00Z')) filter (where due.ready) as ready_since,
      count(*) filter (where t.gate = 'w' or due.woken) as waiting, count(*) filter (where due.woken) as woken,
      -- A row inserted by hand may have any time.
      min(greatest(least(t.not_before, _ts), timestamptz '1970-01-01 00:00Z'))
        filter (where t.gate = 'w' or due.woken) as waiting_since
    from taskq.tasks t
    cross join lateral (
      select t.gate in ('h', 's') and t.lease_owner is null and t.available_at <= _ts as ready,
        t.gate = 'd' and t.not_before <= _ts as woken
    ) as due
    where t.gate is not null and t.group_key is not null
    group by t.queue, t.group_key, t.type
  ),
  -- Groups with due tasks: their slots, and what stops them until someone acts.
  due_groups as materialized (
    select g.*, s.most, s.rate, s.burst,
      case
        when s.most > 0 then null
        when o.paused_at is not null then 'group_paused'
        when exists (
          select from taskq.holding_dead_tasks() as d where d.queue = g.queue and d.key = g.group_key
        ) then 'group_held'
      end as stop
    from (
      select w.queue, w.group_key, sum(w.held) as held, sum(w.waiting) as waiting, sum(w.woken) as woken
      from gated w
      group by w.queue, w.group_key
      having sum(w.waiting) > 0 or sum(w.ready) > 0
    ) as g
    left join taskq.groups o on o.queue = g.queue and o.key = g.group_key
    cross join lateral taskq.group_slots(g.queue, g.group_key, _ts) as s (most, rate, burst)
  )
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
    coalesce(sum(c.timed_out), 0), c.stop, min(c.stopped_group)
  from (
    select t.queue, t.type, t.status, count(*) as tasks,
      count(*) filter (where t.lease_owner is null and t.available_at <= _ts and not is_gated) as due,
      min(greatest(t.available_at, timestamptz '1970-01-01 00:00Z'))
        filter (where t.lease_owner is null and t.available_at <= _ts and not is_gated) as oldest,
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
      ) as timed_out,
      null as stop, null as stopped_group
    from taskq.tasks t
    cross join lateral (select t.gate is not null and t.group_key is not null as is_gated) as g
    group by t.queue, t.type, t.status
    union all
    -- Tasks that wait for a slot of their group are due as far as slots are free and its rate allows them.
    select w.queue, w.type, 'blocked', 0, count(*),
      min(greatest(least(w.not_before, _ts), timestamptz '1970-01-01 00:00Z')), null, null, null, null, null, null, null
    from due_groups g
    left join lateral taskq.group_rate_left(g.queue, g.group_key, g.rate, g.burst, _ts) as r on true
    cross join lateral (select greatest(least(g.most - g.held, g.waiting, r.slots), 0) as number) as free
    cross join lateral (
      -- Each gate for itself, in the order of the index.
      select f.queue, f.type, f.not_before
      from (
        (
          select t.queue, t.type, t.not_before, t.priority, t.id from taskq.tasks t
          where t.queue || '' = g.queue and t.group_key = g.group_key and t.gate = 'w'
          order by t.priority, t.id
          limit free.number
        )
        union all
        (
          select t.queue, t.type, t.not_before, t.priority, t.id from taskq.tasks t
          where t.queue || '' = g.queue and t.group_key = g.group_key and t.gate = 'd' and t.not_before <= _ts
            and g.woken > 0
          order by t.priority, t.id
          limit free.number
        )
      ) as f
      order by f.priority, f.id
      limit free.number
    ) as w
    where g.stop is null
    group by w.queue, w.type
    union all
    -- Tasks with a slot are due; in a stopped group, whose slots the next claim takes back, all waiting tasks.
    select w.queue, w.type, 'blocked', 0, sum(w.ready + case when g.stop is null then 0 else w.waiting end),
      min(least(w.ready_since, case when g.stop is not null then w.waiting_since end)), null, null, null, null, null,
      g.stop, case when count(distinct g.group_key) = 1 then min(g.group_key) end
    from due_groups g
    join gated w on w.queue = g.queue and w.group_key = g.group_key
    where (g.stop is null and g.most > 0 and w.ready > 0) or (g.stop is not null and w.ready + w.waiting > 0)
    group by w.queue, w.type, g.stop
    union all
    select s.queue, s.type, 'blocked', 0, count(*), min(a.due_at), null, null, null, null, null, null, null
    from (
      select o.workflow_id, min(o.due_at) as due_at from taskq.workflow_asks o where o.due_at <= _ts
      group by o.workflow_id
    ) as a
    cross join lateral (
      select t.queue, t.type from taskq.tasks t where t.workflow_id = a.workflow_id and t.gate = 'p' limit 1
    ) as s
    group by s.queue, s.type
    union all
    select d.queue, d.type, 'dead', count(*), null, null, null, null, null, null, null, null, null
    from taskq.dead_tasks d
    group by d.queue, d.type
    union all
    select f.queue, f.type, f.status, count(*), null, null, null,
      count(f.started_at),
      sum(least(date_part('epoch', f.finished_at) - date_part('epoch', f.started_at), 31536000)::numeric * 1000),
      min(coalesce(f.started_at, f.finished_at)), null, null, null
    from taskq.finished_tasks f
    where f.finished_at >= _since and (f.kept_in >= (_since at time zone 'UTC')::date or f.kept_in = '-infinity')
    group by f.queue, f.type, f.status
  ) as c
  group by c.queue, c.type, c.stop
$$;
