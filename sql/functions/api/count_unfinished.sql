-- Counts for `--until-idle` the tasks of these types, in queues that are not paused, that are running anywhere, due, or
-- waiting after a started attempt (retry, snooze, give-back), and one more if a claim has to attend to a workflow, and
-- returns in how many milliseconds the first of them is due. It does not count first runs scheduled for later, tasks
-- that have expired (unless a workflow waits for their end), tasks behind an open breaker, steps that wait for their
-- parents, or tasks that wait for a slot of a stopped group, or of one whose slots are all held by tasks of other types
-- or behind an open breaker. Reads the whole live table; a worker asks only when it is idle.
-- Arguments: _types, those that the caller handles; _queues, those that it serves (null: all).
-- Granted to: worker.
create or replace function taskq.count_unfinished(_types text[], _queues text[] default null)
returns table (unfinished bigint, next_due_ms double precision, left_for_later jsonb)
language sql stable security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
as $$
  with alike as (
    -- Tasks that count alike: each group is checked once, not for each of its tasks.
    select t.queue, t.type, t.lease_owner is not null as is_held,
      case when t.gate in ('w', 's', 'h', 'p') then t.gate end as gate,
      case when t.gate in ('w', 's', 'h') then t.group_key end as key,
      t.gate is distinct from 'p' and (
        t.lease_owner is not null or t.started_at is not null or t.available_at <= clock_timestamp()
      ) as counts,
      count(*) as tasks,
      min(case when t.gate = 'd' then t.not_before else nullif(t.available_at, 'infinity') end) as due_at
    from taskq.tasks t
    where (_queues is null or t.queue = any (_queues)) and (
      t.lease_owner is not null or t.workflow_id is not null
      or taskq.may_start(t.expires_at, t.started_at, clock_timestamp())
    )
    group by 1, 2, 3, 4, 5, 6
  ),
  stopped as materialized (
    select g.queue, g.key
    from (
      select c.queue, c.key, sum(c.stuck) as stuck
      from (
        -- No other group can be stopped [210,000 groups: 5 s if each is asked].
        select o.queue, o.key, 0 as stuck from taskq.groups o where o.paused_at is not null
        union all
        select a.queue, a.key, 0 from alike a where a.gate = 's'
        union all
        -- Slots held by tasks that no worker here may start.
        select a.queue, a.key, a.tasks
        from alike a
        where a.gate in ('h', 's') and not a.is_held and (a.type <> all (_types) or exists (
          select from taskq.standing_breakers() as o where o.type = a.type
        ))
        union all
        select d.queue, d.key, 0 from taskq.holding_dead_tasks() as d
      ) as c
      group by c.queue, c.key
    ) as g
    cross join lateral taskq.group_slots(g.queue, g.key, clock_timestamp()) as s (most)
    where s.most <= g.stuck
  ),
  live as (
    select a.type = any (_types) as handled, q.name is not null as paused,
      b.type is not null and not a.is_held as behind_breaker, a.due_at, a.tasks,
      case when a.gate = 'w' then s.key is null else a.counts end as counts,
      a.gate is not distinct from 'w' as waits_for_slot, a.gate is not distinct from 'p' as waits_for_parents
    from alike a
    left join taskq.queues q on q.name = a.queue and q.paused_at is not null
      and (q.paused_until is null or q.paused_until > clock_timestamp())
    left join taskq.standing_breakers() as b on b.type = a.type
    left join stopped s on s.queue = a.queue and s.key = a.key
  ),
  -- The next claim may release a step when it attends to a workflow.
  asked as (
    select min(a.due_at) as due_at, count(a.due_at) as number
    from (
      select o.due_at from taskq.workflow_asks o where o.due_at <= clock_timestamp() + interval '1 second'
      order by o.due_at limit 1
    ) as a
  )
  select
    coalesce(sum(tasks) filter (where handled and not paused and not behind_breaker and counts), 0)::bigint
      + (select number from asked),
    (
      date_part('epoch', least(
        min(due_at) filter (where handled and not paused and not behind_breaker and counts),
        (select asked.due_at from asked)
      )) - date_part('epoch', clock_timestamp())
    ) * 1000,
    jsonb_strip_nulls(jsonb_build_object(
      'scheduled', nullif(sum(tasks) filter (
        where handled and not paused and not behind_breaker and not counts and not waits_for_slot
          and not waits_for_parents
      ), 0),
      'waiting_for_parents', nullif(sum(tasks) filter (
        where handled and not paused and not behind_breaker and waits_for_parents
      ), 0),
      'in_stopped_groups', nullif(sum(tasks) filter (
        where handled and not paused and not behind_breaker and not counts and waits_for_slot
      ), 0),
      'in_paused_queues', nullif(sum(tasks) filter (where handled and paused), 0),
      'behind_open_breakers', nullif(sum(tasks) filter (where handled and not paused and behind_breaker), 0),
      'of_other_types', nullif(sum(tasks) filter (where not handled), 0)
    ))
  from live
$$;
