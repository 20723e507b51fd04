-- Counts for `--until-idle` the tasks of these types, in queues that are not paused, that are running anywhere, due, or
-- waiting after a started attempt (retry, snooze, give-back), and returns in how many milliseconds the first of them is
-- due. It does not count first runs scheduled for later, tasks behind an open breaker, or tasks that wait for a slot of
-- a stopped group. Reads the whole live table; a worker asks only when it is idle.
create or replace function taskq.count_unfinished(_types text[], _queues text[] default null)
returns table (unfinished bigint, next_due_ms double precision, left_for_later jsonb)
language sql stable security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
as $$
  with live as (
    select t.type = any (_types) as handled, t.queue, t.type, q.name is not null as paused,
      b.type is not null and t.lease_owner is null as behind_breaker,
      case when t.gate = 'd' then t.not_before else nullif(t.available_at, 'infinity') end as due_at,
      case
        when t.gate = 'w' then (select s > 0 from taskq.group_slots(t.queue, t.group_key, clock_timestamp()) as s)
        else t.lease_owner is not null or t.started_at is not null or t.available_at <= clock_timestamp()
      end as counts,
      t.gate is not distinct from 'w' as waits_for_slot
    from taskq.tasks t
    left join taskq.queues q on q.name = t.queue and q.paused_at is not null
      and (q.paused_until is null or q.paused_until > clock_timestamp())
    left join taskq.breakers b on b.type = t.type and b.opened_at is not null
    where _queues is null or t.queue = any (_queues)
  )
  select
    count(*) filter (where handled and not paused and not behind_breaker and counts),
    extract(
      epoch from min(due_at) filter (where handled and not paused and not behind_breaker and counts) - clock_timestamp()
    ) * 1000,
    jsonb_strip_nulls(jsonb_build_object(
      'scheduled', nullif(count(*) filter (
        where handled and not paused and not behind_breaker and not counts and not waits_for_slot
      ), 0),
      'in_stopped_groups', nullif(count(*) filter (
        where handled and not paused and not behind_breaker and not counts and waits_for_slot
      ), 0),
      'in_paused_queues', nullif(count(*) filter (where handled and paused), 0),
      'behind_open_breakers', nullif(count(*) filter (where handled and not paused and behind_breaker), 0),
      'of_other_types', nullif(count(*) filter (where not handled), 0)
    ))
  from live
$$;
