-- Writes into the limits that a claim has taken (see taskq.take_limits) the tasks that it is about to claim, which it
-- has locked, and what that leaves. A queue that no task was taken from, and that stays as it was, is not written.
-- Returns those of the chosen rows that fit (see taskq.fit_limits), the first level that was not read to its end for
-- the limits (null: none), and whether a task waits only for a slot here.
--
-- _places are the levels of the rows that were read. _level_queues and _level_rooms are those of taskq.take_limits;
-- null: every row fits.
create or replace function taskq.spend_limits(
  _limits taskq.standing_limit[], _chosen tid[], _places bigint[], _level_queues text[], _level_rooms integer[],
  _start integer, _ts timestamptz, out fitting tid[], out unread_level integer, out wants_slot boolean
)
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
declare
  queues constant text[] := _level_queues[1 : cardinality(_level_queues) / 10];
  ids bigint[];
  ids_of text[];
  one taskq.standing_limit;
  taken bigint[];
begin
  fitting := _chosen;
  wants_slot := false;
  select array_agg(t.id), array_agg(t.queue) into ids, ids_of from taskq.tasks t where t.ctid = any (_chosen);
  if _level_rooms is not null then
    select min(level.place) filter (where level.rows_read >= level.room) into unread_level
    from (
      select l.place, count(*) as rows_read, _level_rooms[l.place] as room
      from unnest(_places) as l (place)
      group by l.place
    ) as level;
    -- Rare: a queue has tasks of several priorities, or tasks are claimed ahead.
    if cardinality(_chosen) > _start or exists (
      select from unnest(ids_of) as t (queue)
      group by t.queue having count(*) > _level_rooms[array_position(queues, t.queue)]
    ) then
      select f.fitting, f.ids, f.ids_of, least(unread_level, f.passed_level), f.wants_slot
      into fitting, ids, ids_of, unread_level, wants_slot
      from taskq.fit_limits(_chosen, queues, _level_rooms, _start) as f;
    end if;
  end if;

  foreach one in array _limits loop
    taken := array(select t.id from unnest(ids, ids_of) as t (id, queue) where t.queue = one.queue);
    if cardinality(taken) > 0 then
      -- A task in the list may have been claimed again since. Without a max_running, add none: no claim would drop
      -- ended tasks.
      if one.max_running is not null then
        one.held := one.held || array(select id from unnest(taken) as id where id <> all (one.held));
      end if;
      -- Keep what was used up of a rate while there is none: the rate may come back.
      one.used_to := coalesce(
        greatest(one.used_to, _ts) + interval '1 microsecond'
          * ceil(cardinality(taken) * one.rate_us / one.rate_starts::numeric)::double precision,
        one.used_to
      );
    end if;
    update taskq.limit_states s
    set held = one.held, held_since = one.held_since, set_at = one.set_at, set_by = one.set_by,
      count_at = one.count_at, counted_to = one.counted_to, look_at = one.look_at, used_to = one.used_to
    where s.queue = one.queue
      and (s.held, s.held_since, s.count_at, s.counted_to, s.look_at, s.used_to)
        is distinct from (one.held, one.held_since, one.count_at, one.counted_to, one.look_at, one.used_to);
  end loop;
end
$$;
