-- Says that a worker has loaded its handlers anew, and what it handles from now on (_types as in register_worker).
-- Where its claims were says nothing of types it did not handle: nobody starts from there.
create or replace function taskq.reload_worker(_worker integer, _types jsonb, options jsonb default '{}')
returns void
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
declare
  ts timestamptz := clock_timestamp();
begin
  update taskq.workers set types = taskq.note_types(_types, ts), cursors = null where id = _worker;
end
$$;
