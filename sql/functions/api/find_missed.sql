-- Finds the tasks that claims have passed: for each queue and priority the first due task of these types at or before
-- the claim cursor (as in taskq.claim; null: anywhere), which was committed late, was locked when they passed, or waits
-- again at its old place; and likewise, as priority 10, the first ask of a group. Types whose breaker is open are left
-- out. Claims nothing and locks nothing: a claim from there on brings it. One more row, whose queue
-- is null, says up to when a level without a cursor was read. It costs as much as there is behind the cursor, including
-- dead rows held by a snapshot: a worker runs it beside its claims, and paces it by that cost.
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
  -- They are not claimed: a claim that went back for them would read them all again.
  _types := array(
    select a.type from unnest(_types) as a (type)
    where not exists (select from taskq.breakers b where b.type = a.type and b.opened_at is not null)
  );
  return query
  select level.queue, level.priority, taskq.epoch_us(first.available_at), first.id, null::jsonb
  from (
    select q.name as queue, p::smallint as priority,
      least(
        ts, 'epoch'::timestamptz + _cursor[22 * (q.place - 1) + 2 * p + 1] * interval '1 microsecond'
      ) as cursor_at,
      coalesce(_cursor[22 * (q.place - 1) + 2 * p + 2], 9223372036854775807) as cursor_id
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
  select q.name, 10::smallint, taskq.epoch_us(first.due_at), first.id, null
  from unnest(_queues) with ordinality as q (name, place)
  cross join lateral (
    select a.due_at, a.id
    from taskq.asks a
    where a.queue = q.name and a.due_at <= ts and (a.due_at, a.id) <= (
      coalesce('epoch'::timestamptz + _cursor[22 * q.place - 1] * interval '1 microsecond', ts),
      coalesce(_cursor[22 * q.place], 9223372036854775807)
    )
    order by a.due_at, a.id
    limit 1
  ) as first;
  available_at_us := (extract(epoch from ts) * 1000000)::bigint;
  return next;
end
$$;
