-- Drops the chosen rows of a claim that exceed the room of their queues, in the order of their urgency, and those of
-- limited queues that would be claimed ahead: a start that the rate allows is used up when the task is claimed. No
-- other claim misses them, because this one has the limits of their queues. Returns those that fit, with their ids and
-- queues, the first level of one that does not (null: all fit), and whether one waits only for a slot.
create or replace function taskq.fit_limits(
  _chosen tid[], _queues text[], _level_rooms integer[], _start integer,
  out fitting tid[], out ids bigint[], out ids_of text[], out passed_level integer, out wants_slot boolean
)
language sql stable security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
as $$
  with roomy as (
    select c.nth, c.row_at, t.id, t.queue, level.place, _level_rooms[level.place] as room,
      row_number() over (partition by t.queue order by c.nth) as nth_of_queue
    from unnest(_chosen) with ordinality as c (row_at, nth)
    join taskq.tasks t on t.ctid = c.row_at
    cross join lateral (
      select t.priority * cardinality(_queues) + array_position(_queues, t.queue) as place
    ) as level
  ),
  placed as (
    select r.*, r.room is null or r.nth_of_queue <= r.room as has_room,
      count(*) filter (where r.room is null or r.nth_of_queue <= r.room) over (order by r.nth) as position
    from roomy r
  ),
  fitted as (
    select p.*, p.has_room and (p.room is null or p.position <= _start) as fits from placed p
  )
  select array_agg(f.row_at order by f.nth) filter (where f.fits), array_agg(f.id) filter (where f.fits),
    array_agg(f.queue) filter (where f.fits), min(f.place) filter (where not f.fits),
    coalesce(bool_or(f.has_room and not f.fits), false)
  from fitted f
$$;
