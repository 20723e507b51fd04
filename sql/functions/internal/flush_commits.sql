-- Makes this commit wait until every commit that it has seen is on disk, including those of sessions with
-- synchronous_commit off. Without it, a crash could undo an end that a reader has acted on, and a later transaction
-- would reuse its id, which the reader has passed.
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
  -- A commit without writes waits for nothing.
  perform pg_logical_emit_message(true, 'taskq', '');
end
$$;
