-- Returns the transaction that has locked the row with this xmax: {"pid", "application", "role", "since"} of its
-- session, or {"prepared", "role", "since"} with the name of a prepared one; since is when it was opened, or prepared.
-- Null: it is no longer open, or several share the lock.
create or replace function taskq.row_holder(_xmax xid)
returns jsonb
language sql stable security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
  select coalesce(
    (
      select jsonb_build_object('prepared', p.gid, 'role', p.owner, 'since', p.prepared)
      from pg_prepared_xacts p where p.transaction = _xmax and p.database = current_database()
      limit 1
    ),
    (
      select jsonb_build_object(
        'pid', a.pid, 'application', a.application_name, 'role', a.usename, 'since', a.xact_start
      )
      from pg_locks l
      join pg_stat_activity a on a.pid = l.pid
      where l.locktype = 'transactionid' and l.transactionid = _xmax and l.mode = 'ExclusiveLock' and l.granted
      limit 1
    )
  )
$$;
