-- Finds the tasks that claims have passed: for each queue and priority the first due task of these types at or before
-- the claim cursor (as in taskq.claim; null: anywhere), which was committed late, was locked when they passed, or waits
-- again at its old place; and likewise, as priority 10, the first ask of a group or of a workflow, or uncounted failure
-- of a breaker. Types whose breaker is open are left out. extra has {"limited": true} where the queue is full, or waits
-- for its next start: a claim may go back there, but gets nothing now. Claims nothing and locks nothing: a claim from
-- there on brings it. One more row, whose queue is null, has the time up to which a level without a cursor was read. It
-- costs as much as there is behind the cursor, including dead rows held by a snapshot: a worker runs it beside its
-- claims, and paces it by that cost.
-- Arguments: _queues, _types and _cursor, as in taskq.claim.
-- Granted to: worker.
create or replace function taskq.find_missed(_queues text[], _types text[], _cursor bigint[] default null)
returns table (queue text, priority smallint, available_at_us bigint, id bigint, extra jsonb)
language plpgsql stable security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  ts timestamptz := clock_timestamp();
begin
  -- Leave out types that are not claimed: a claim that went back for them would reread them all.
  _types := taskq.without_open_breaker(_types);
  return query
  select missed.queue, missed.priority, taskq.epoch_us(missed.at), missed.id,
    case when exists (
      select from taskq.standing_limits(array[missed.queue]) as l where taskq.opening(l, ts) > ts
    ) then '{"limited": true}'::jsonb end
  from (
    select level.queue, level.priority, first.available_at as at, first.id
    from (
      select q.name as queue, p::smallint as priority,
        least(ts, taskq.cursor_at(_cursor, q.place, p)) as cursor_at,
        coalesce(taskq.cursor_id(_cursor, q.place, p), 9223372036854775807) as cursor_id
      from unnest(_queues) with ordinality as q (name, place)
      cross join generate_series(0, 9) as p
    ) as level
    cross join lateral (
      select t.available_at, t.id
      from taskq.tasks t
      where t.queue = level.queue and t.priority = level.priority
        and (t.available_at, t.id + 0) <= (level.cursor_at, level.cursor_id)
        and t.lease_owner is null and t.type = any (_types)
        and taskq.may_start(t.expires_at, t.started_at, ts)
      order by t.available_at, t.id + 0
      limit 1
    ) as first
    union all
    select q.name, 10::smallint, first.due_at, first.id
    from unnest(_queues) with ordinality as q (name, place)
    cross join lateral (
      select a.due_at, a.id
      from taskq.asks a
      where a.queue = q.name and a.due_at <= ts and (a.due_at, a.id) <= (
        coalesce(taskq.cursor_at(_cursor, q.place, 10), ts),
        coalesce(taskq.cursor_id(_cursor, q.place, 10), 9223372036854775807)
      )
      order by a.due_at, a.id
      limit 1
    ) as first
    union all
    -- Asks of workflows and events of breakers belong to no queue: search for them from the lowest place.
    select _queues[1], 10::smallint, first.due_at, 0::bigint
    from (
      select a.due_at
      from taskq.workflow_asks a
      where a.due_at <= coalesce(
        (select min(taskq.cursor_at(_cursor, q.place, 10)) from generate_series(1, cardinality(_queues)) as q (place)),
        ts
      )
      order by a.due_at
      limit 1
    ) as first
    where _queues[1] is not null
    union all
    select _queues[1], 10::smallint, first.at, 0::bigint
    from (
      select e.at
      from taskq.breaker_events e
      where e.at <= coalesce(
        (select min(taskq.cursor_at(_cursor, q.place, 10)) from generate_series(1, cardinality(_queues)) as q (place)),
        ts
      )
      order by e.at
      limit 1
    ) as first
    where _queues[1] is not null
  ) as missed;
  available_at_us := taskq.epoch_us(ts);
  return next;
end
$$;
