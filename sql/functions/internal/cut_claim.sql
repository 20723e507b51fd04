-- Cuts what a claim has chosen: before the first task that must come alone (a suspect whose workers were lost three
-- times before it started), or after it if it comes first; and where the payloads would exceed 16 MB, after one at
-- least. Returns the kept rows, and the level of the first task that is left out, which was not read yet (cut_level;
-- null: none is left out). Wakes workers for the tasks it leaves out.
create or replace function taskq.cut_claim(
  _chosen tid[], _level_queues text[], _level_priorities smallint[], out kept tid[], out cut_level integer
)
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  first_left integer;
begin
  select c.nth, level.place into first_left, cut_level
  from (
    select chosen_at.nth, t.queue, t.priority, t.lost_ahead,
      sum(taskq.payload_weight(t.payload_bytes, t.payload)) over (order by chosen_at.nth) as so_far
    from unnest(_chosen) with ordinality as chosen_at (row_at, nth)
    join taskq.tasks t on t.ctid = chosen_at.row_at
  ) as c
  join unnest(_level_queues, _level_priorities) with ordinality as level (queue, priority, place)
    on level.queue = c.queue and level.priority = c.priority
  where c.lost_ahead >= 3 or (c.so_far > 16777216 and c.nth > 1)
  order by c.nth
  limit 1;
  kept := _chosen;
  if found then
    first_left := greatest(first_left, 2);
    -- Claims that run now skip the rows that this one has locked and leaves out: send them back once these are free.
    perform taskq.wake(l.queue, l.due, true)
    from (
      select t.queue, min(t.available_at) as due from taskq.tasks t
      where t.ctid = any (_chosen[first_left :]) group by t.queue
    ) as l;
    kept := _chosen[1 : first_left - 1];
  end if;
end
$$;
