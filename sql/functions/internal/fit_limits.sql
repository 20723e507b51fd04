-- Leaves out of the rows that a claim has chosen, and locked, in the order of their urgency, those beyond the rooms of
-- their queues, and those of limited queues that would be claimed ahead: a start that the rate allows is used up when
-- the task is claimed. No other claim misses them, because this one has the limits of their queues. Returns also the
-- first level that was not read to its end for that (null: none), and whether a task waits only for a slot here.
create or replace function taskq.fit_limits(
  _chosen tid[], _rooms jsonb, _level_queues text[], _level_priorities smallint[], _start integer,
  out fitting tid[], out level_left integer, out wants_slot boolean
)
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
begin
  with roomy as (
    select chosen_at.nth, chosen_at.row_at, level.place, (_rooms ->> t.queue)::integer as room,
      row_number() over (partition by t.queue order by chosen_at.nth) as nth_of_queue,
      count(*) over (partition by level.place) as in_level
    from unnest(_chosen) with ordinality as chosen_at (row_at, nth)
    join taskq.tasks t on t.ctid = chosen_at.row_at
    join unnest(_level_queues, _level_priorities) with ordinality as level (queue, priority, place)
      on level.queue = t.queue and level.priority = t.priority
  ),
  placed as (
    select r.*, r.room is null or r.nth_of_queue <= r.room as has_room,
      count(*) filter (where r.room is null or r.nth_of_queue <= r.room) over (order by r.nth) as position
    from roomy r
  )
  select array_agg(p.row_at order by p.nth) filter (where p.has_room and (p.room is null or p.position <= _start)),
    min(p.place) filter (where p.room is not null and (not p.has_room or p.in_level >= p.room or p.position > _start)),
    coalesce(bool_or(p.room is not null and p.has_room and p.position > _start), false)
  into fitting, level_left, wants_slot
  from placed p;
end
$$;
