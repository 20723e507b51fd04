-- Notes that housekeeping removes events up to this one: taskq.events_after refuses the positions before it.
create or replace function taskq.note_dropped_event(_xid xid8, _id bigint)
returns void
language sql security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
  update taskq.dropped_events d set xid = _xid, id = _id where (d.xid, d.id) < (_xid, _id)
$$;
