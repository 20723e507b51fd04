-- Ensures that a table of history (_parent) has its partition for rows without another, so that every ending
-- task finds a place even if someone has dropped or detached it. If it cannot be created now, nothing happens, and an
-- insert that needs it fails.
create or replace function taskq.ensure_place(_parent text)
returns void
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
begin
  if pg_partition_root(to_regclass(format('taskq.%s_unplaced', _parent)))
      is distinct from to_regclass('taskq.' || _parent)
    and not exists (
      select from taskq.history_partitions() as h where h.parent = _parent and '-infinity'::date = any (h.days)
    )
  then
    perform taskq.ensure_partitions();
  end if;
end
$$;
