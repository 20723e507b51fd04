-- Chooses and locks the next probe of an open breaker, if one is due: the first task of its type in these levels
-- (queues and priorities, most urgent first) that the database lets this worker lease. The type that has been due for
-- longest comes first; one without such a task here gives way to the next. Null: none is due, other claims are choosing
-- now, or no task of these types can be claimed here. Refused: the tasks that it skipped, as taskq.try_claim returns
-- them.
--
-- The breaker's row is locked first, and without waiting, so no two claims choose at once. No index finds a type: the
-- search walks the tasks of others before it; where that is slow, it takes at most a twentieth of the time. It tries up
-- to a thousand tasks of a type, for 5 s at most; if all are refused, it looks again after a second.
create or replace function taskq.choose_probe(
  _worker integer, _types text[], _level_queues text[], _level_priorities smallint[], _events_from timestamptz,
  _start integer, _lease_ms bigint, _ts timestamptz, out row_at tid, out refused jsonb
)
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
  began constant timestamptz := clock_timestamp();
  -- Read row by row, so that it locks no task that it does not try.
  waiting cursor (_type text) for
    select first.row_at
    from unnest(_level_queues, _level_priorities) as level_of (queue, priority),
    lateral (
      select t.ctid as row_at from taskq.tasks t
      where t.queue = level_of.queue and t.priority = level_of.priority and t.available_at <= _ts
        and t.lease_owner is null and t.type = _type and taskq.may_start(t.expires_at, t.started_at, _ts)
      order by t.available_at, t.id + 0
      limit 1000
      for no key update skip locked
    ) as first
    limit 1000;
  due text;
  next_at tid;
  tried record;
  cost interval;
  without_task text[];
begin
  for due in
    select o.type
    from taskq.open_breakers(_ts) as o
    join taskq.breakers b on b.type = o.type
    where o.type = any (_types) and o.probe_at <= _ts
      and (b.probe_from is null or _ts not between b.probe_from - interval '1 hour' and b.probe_from)
    order by o.probe_at, o.type
  loop
    perform from taskq.breakers b where b.type = due for no key update skip locked;
    -- Only a separate statement sees what another claim did before the lock. A probe that has succeeded has left the
    -- live table, and its event may still be waiting for a claim.
    continue when not found
      or not exists (select from taskq.open_breakers(_ts) as o where o.type = due and o.probe_at <= _ts)
      or exists (
        select from taskq.breaker_events e where e.type = due and e.at >= _events_from and not e.is_open
      );
    open waiting (due);
    loop
      fetch waiting into next_at;
      exit when not found or clock_timestamp() > began + interval '5 s';
      continue when taskq.find_out_of_turn(array[next_at], null, _ts) is not null;
      tried := taskq.try_claim(array[next_at], _start, 1, _worker, _lease_ms, _ts);
      row_at := tried.claimable[1];
      exit when row_at is not null;
      refused := coalesce(refused, '[]') || tried.refused;
    end loop;
    close waiting;
    exit when row_at is not null;
    without_task := without_task || due;
    exit when clock_timestamp() > began + interval '5 s';
  end loop;
  cost := clock_timestamp() - began;
  if without_task is not null and (cost > interval '1 ms' or refused is not null) then
    update taskq.breakers b
    set probe_from = greatest(
      began + 20 * cost,
      case when refused @> jsonb_build_array(jsonb_build_object('type', b.type)) then _ts + interval '1 second' end
    )
    where b.type = any (without_task);
  end if;
  if row_at is not null then
    update taskq.breakers b
    set probe_id = t.id, probe_owner = _worker, probed_at = _ts,
      -- A search that finds a task is not repeated before that task has ended.
      probe_from = case when cost > interval '50 ms' then began + 20 * cost else b.probe_from end
    from taskq.tasks t
    where t.ctid = row_at and b.type = t.type;
  end if;
end
$$;
