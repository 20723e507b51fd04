-- Returns, for a group that has its turn, how many more of its tasks may have a slot (room), how many of them its rate
-- allows now (slots), and how many it gets in one turn (in_turn). See taskq.fill_groups for _share.
--
-- Inlined into the calling statement, which is why it names its schema and has no `set` clause.
create or replace function taskq.free_slots_of(_group taskq.group_turn, _share integer)
returns table (room integer, slots integer, in_turn integer)
language sql immutable parallel safe
as $$
  select r.room, s.slots,
    least(s.slots, case _group.most when taskq.unlimited() then _share else greatest(_share, 10) end)
  from (select greatest(_group.most - _group.held + coalesce(_group.taken_back, 0), 0) as room) as r
  cross join lateral (
    select least(r.room, _group.allowed + coalesce(_group.unused, 0), _group.burst) as slots
  ) as s
$$;
