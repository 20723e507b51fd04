-- Deletes those of these tasks, just inserted, whose key another task holds for a period (see taskq.find_losers).
-- Returns the others.
create or replace function taskq.without_losers(_ids bigint[])
returns bigint[]
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
as $$
declare
  losers constant bigint[] := taskq.find_losers(_ids);
begin
  if losers is null then
    return _ids;
  end if;
  delete from taskq.tasks t where t.id = any (losers);
  return array(select m.id from unnest(_ids) as m (id) where m.id <> all (losers));
end
$$;
