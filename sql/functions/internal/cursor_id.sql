-- Returns the id of a place in the cursor of a claim, null if it has none; see taskq.cursor_at. Inlined into the
-- calling statement.
create or replace function taskq.cursor_id(_cursor bigint[], _queue bigint, _level integer)
returns bigint
language sql immutable parallel safe
as $$
  select _cursor[22 * (_queue - 1) + 2 * _level + 2]
$$;
