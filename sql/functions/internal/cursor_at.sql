-- Returns the time of a place in the cursor of a claim (see taskq.claim), null if it has none: _queue counts the queues
-- of the claim from 1, _level is a priority, or 10 for the asks of groups. Inlined into the calling statement.
create or replace function taskq.cursor_at(_cursor bigint[], _queue bigint, _level integer)
returns timestamptz
language sql stable parallel safe
as $$
  select 'epoch'::timestamptz + _cursor[22 * (_queue - 1) + 2 * _level + 1] * interval '1 microsecond'
$$;
