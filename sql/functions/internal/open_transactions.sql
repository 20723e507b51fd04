-- Returns the transactions that run as of a snapshot, with that of the caller, in order: rows that become visible after
-- this snapshot are from one of them or from a later one.
create or replace function taskq.open_transactions(_snapshot pg_snapshot)
returns xid8[]
language sql stable security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
  select array(
    select x.xid from (
      select pg_snapshot_xip(_snapshot) as xid
      union
      select pg_current_xact_id_if_assigned()
    ) as x
    where x.xid is not null
    order by x.xid
  )
$$;
