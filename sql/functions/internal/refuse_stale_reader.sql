-- Refuses to read events if the snapshot of the statement does not show which transactions have ended: on a standby,
-- whose snapshots leave out running ones, and in a transaction that keeps its first snapshot, which would read a gap
-- where housekeeping has since removed events.
create or replace function taskq.refuse_stale_reader(_verb text)
returns void
language plpgsql stable security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
begin
  if pg_is_in_recovery() then
    raise exception '%: a standby does not know which transactions run', _verb
      using errcode = 'read_only_sql_transaction', hint = 'read events from the primary';
  end if;
  if current_setting('transaction_isolation') not like 'read %committed' then
    raise exception '%: isolation level %: expected read committed', _verb, current_setting('transaction_isolation')
      using errcode = 'invalid_transaction_state';
  end if;
end
$$;
