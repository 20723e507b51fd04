-- Returns the partition of a table of history (_parent) that takes a row kept until that day, as its
-- `kept_in`: that day, or '-infinity' if the day has no partition, in which case taskq.place_history moves the row
-- later. So every row finds a place, and a settle never waits for the creation of a partition. Null for null.
--
-- First tries the name that we give a partition, and the bound that the server reports for it. Both come from the
-- server's caches, which are current even for a transaction with an older snapshot, as is the insert that follows [20
-- us]. Only if that fails are all partitions searched: one may have been renamed. The column and the type of the bound
-- have quotes with quote_all_identifiers.
create or replace function taskq.place_of(_parent text, _drop_on date)
returns date
language plpgsql stable security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
declare
  root regclass := to_regclass('taskq.' || _parent);
  named regclass := to_regclass(format(
    'taskq.%s_%s', _parent, coalesce(to_char(nullif(_drop_on, 'infinity'), 'YYYYMMDD'), 'ever')
  ));
begin
  return case
    when _drop_on is null then null
    when pg_partition_root(named) = root
      and strpos(
        replace(pg_get_partition_constraintdef(named), '"', ''), format('(kept_in = %L::date)', _drop_on)
      ) > 0 then _drop_on
    when exists (
      select from taskq.history_partitions() as h
      where h.parent = _parent and _drop_on = any (h.days) and pg_partition_root(h.relation) = root
    ) then _drop_on
    else '-infinity'
  end;
end
$$;
