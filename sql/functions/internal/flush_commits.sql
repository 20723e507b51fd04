-- Has the commit of this transaction wait until all commits that it has seen are on disk, those of sessions with
-- synchronous_commit off too. Without it, a crash could take back an end that a reader has acted on, and its
-- transaction id would be used again by one that the reader has passed.
create or replace function taskq.flush_commits()
returns void
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
begin
  if pg_current_wal_flush_lsn() >= pg_current_wal_insert_lsn() then
    return;
  end if;
  if current_setting('synchronous_commit') = 'off' then
    perform set_config('synchronous_commit', 'on', true);
  end if;
  -- A commit that wrote nothing waits for nothing.
  perform pg_logical_emit_message(true, 'taskq', '');
end
$$;
