-- Returns the installed release, and the oldest client release that can work with it: a client's first query, which
-- needs no privilege on any table.
-- Granted to: producer, worker, reader, operator.
create or replace function taskq.get_release()
returns table (number integer, oldest_client integer, migration integer, extra jsonb)
language plpgsql stable security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
begin
  return query
  select r.number, r.oldest_client, coalesce((select max(m.id) from taskq.migrations m), 0), null::jsonb
  from taskq.release r;
end
$$;
