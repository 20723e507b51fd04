-- Returns the tasks that have a slot of a group, each gate for itself: the planner may apply `in` as a filter on all
-- rows of the group, and, without `offset 0`, a condition of the caller too.
--
-- Inlined into the calling statement, which is why it names its schema and has no `set` clause.
create or replace function taskq.slot_holders(_queue text, _key text)
returns setof taskq.tasks
language sql stable
as $$
  select t.*
  from unnest('{h,s}'::"char"[]) as held (gate)
  cross join lateral (
    select r.* from taskq.tasks r
    where r.queue || '' = _queue and r.group_key = _key and r.gate = held.gate
    offset 0
  ) as t
$$;
