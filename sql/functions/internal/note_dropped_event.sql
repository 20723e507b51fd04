-- Notes that housekeeping removes events up to this one: taskq.events_after refuses the positions before it.
create or replace function taskq.note_dropped_event(_xid xid8, _id bigint)
returns void
language sql security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
  insert into taskq.dropped_events as d (xid, id) values (_xid, _id)
  -- The row may have been truncated with the events.
  on conflict (only_row) do update set xid = _xid, id = _id where (d.xid, d.id) < (_xid, _id)
$$;
