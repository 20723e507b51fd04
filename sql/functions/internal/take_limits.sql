-- Takes the limits that a claim needs: locks the states of queues that look open and have a due task in these levels,
-- or are among those whose groups ask (_asking), most urgent first, until they have room for _start tasks. So claims
-- that begin with different queues take different limits; one whose state another claim has is left out. A claim that
-- may try an open breaker (_may_probe) takes all: its task may be anywhere.
--
-- Returns these limits as they stand now, and the levels that may be read, with the room of each: null: no limit;
-- 0: it has nothing due, as far as levels were looked at: those before level_left (null: all). `closed` has the queues
-- that the claim gets nothing from, with the time in epoch microseconds to come again: that of the next start
-- by the rate, or in some milliseconds if another claim has the state, or if this one did not need it. Null there: the
-- queue is full, and the end of a task wakes workers. No limits and no `closed`: no queue has a limit.
-- taskq.spend_limits writes what the claim takes.
create or replace function taskq.take_limits(
  _queues text[], _priorities smallint[], _times timestamptz[], _ids bigint[], _types text[], _asking text[],
  _start integer, _most integer, _may_probe boolean, _ts timestamptz,
  out limits taskq.standing_limit[], out closed jsonb, out level_left integer,
  out level_queues text[], out level_priorities smallint[], out level_times timestamptz[], out level_ids bigint[],
  out level_rooms integer[]
)
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
declare
  enough constant integer := greatest(_start, 1);
  -- Read row by row, so that it looks no further than it needs to.
  waiting cursor (_open text[]) for
    select level.queue, level.place::integer as place, due.tasks
    from unnest(_queues, _priorities, _times, _ids)
      with ordinality as level (queue, priority, after_at, after_id, place)
    cross join lateral (
      select count(*)::integer as tasks
      from (
        select from taskq.tasks t
        where t.queue = level.queue and t.priority = level.priority
          and (t.available_at, t.id + 0) > (level.after_at, level.after_id) and t.available_at <= _ts
          and t.lease_owner is null and t.type = any (_types)
          and taskq.may_start(t.expires_at, t.started_at, _ts)
        order by t.available_at, t.id + 0
        limit enough
      ) as first
    ) as due
    -- A queue with only asks may get no task from them, and must take no room from a task of another queue.
    where level.queue = any (_open) and (due.tasks > 0 or level.queue = any (_asking) or _may_probe);
  soon constant bigint := taskq.epoch_us(_ts) + 5000;
  seem_open text[];
  tried text[] := array[]::text[];
  rooms jsonb := jsonb_build_object();
  found_room integer := 0;
  is_enough boolean := false;
  next_queue text;
  next_place integer;
  next_tasks integer;
  one taskq.standing_limit;
  room integer;
  opens_at timestamptz;
  locked_at timestamptz;
begin
  select array_agg(l.queue) filter (where c.until is null),
    jsonb_object_agg(l.queue, case when isfinite(c.until) then taskq.epoch_us(c.until) end)
      filter (where c.until is not null)
  into seem_open, closed
  from taskq.standing_limits(_queues[1 : cardinality(_queues) / 10]) as l
  cross join lateral (select taskq.closed_until(l, _ts) as until offset 0) as c;

  if seem_open is not null then
    open waiting (seem_open);
    while not is_enough loop
      fetch waiting into next_queue, next_place, next_tasks;
      exit when not found;
      continue when next_queue = any (tried);
      tried := tried || next_queue;
      perform from taskq.limit_states s where s.queue = next_queue for no key update skip locked;
      if found then
        -- In a statement of its own, which sees what the last claim that had the lock has written.
        select l.* into one from taskq.standing_limits(array[next_queue]) as l;
      end if;
      if not found then
        closed := coalesce(closed, '{}') || jsonb_build_object(next_queue, soon);
        continue;
      end if;
      -- Not earlier than the previous claims with this lock: what they used up would look further ahead than possible.
      locked_at := clock_timestamp();
      one := taskq.count_held(one, _most, locked_at);
      limits := limits || one;
      room := case
        when one.counted_to is null
          then least(_most, one.max_running - cardinality(one.held), taskq.starts_left(one, locked_at))
        else 0
      end;
      if room > 0 then
        rooms := rooms || jsonb_build_object(next_queue, room);
        found_room := found_room + least(room, next_tasks);
        is_enough := found_room >= enough and not _may_probe;
      else
        opens_at := taskq.opening(one, locked_at);
        closed := coalesce(closed, '{}') || jsonb_build_object(
          next_queue,
          case when one.counted_to is not null then soon when isfinite(opens_at) then taskq.epoch_us(opens_at) end
        );
      end if;
    end loop;
    close waiting;
  end if;

  if seem_open is null and closed is null then
    level_queues := _queues;
    level_priorities := _priorities;
    level_times := _times;
    level_ids := _ids;
    return;
  end if;
  if is_enough then
    -- Close the asking queues that were not tried: this claim does not attend to their asks.
    closed := coalesce(closed, '{}') || coalesce((
      select jsonb_object_agg(q.name, soon) from unnest(_asking) as q (name)
      where q.name = any (seem_open) and q.name <> all (tried)
    ), '{}');
  end if;
  select array_agg(level.queue), array_agg(level.priority), array_agg(level.after_at), array_agg(level.after_id),
    array_agg(coalesce((rooms ->> level.queue)::integer, case when level.queue = any (seem_open) then 0 end)),
    case when is_enough then count(*) filter (where level.place <= next_place) + 1 end
  into level_queues, level_priorities, level_times, level_ids, level_rooms, level_left
  from unnest(_queues, _priorities, _times, _ids) with ordinality as level (queue, priority, after_at, after_id, place)
  where (closed ? level.queue) is not true;
  if is_enough then
    closed := coalesce(closed, '{}') || coalesce((
      select jsonb_object_agg(q.name, soon) from unnest(seem_open) as q (name) where q.name <> all (tried)
    ), '{}');
  end if;
end
$$;
