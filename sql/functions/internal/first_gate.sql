-- Returns the gate behind which a new task of a group waits: 'd' until it is due, then 'w' for a slot. Null: it is in
-- no group. Inlined into the calling statement.
create or replace function taskq.first_gate(_group_key text, _due timestamptz, _ts timestamptz)
returns "char"
language sql immutable parallel safe
as $$
  select case when _group_key is null then null when _due > _ts then 'd'::"char" else 'w'::"char" end
$$;
