-- Waits for the turn of a claim of many tasks, for a second at most. It lasts until the transaction ends. Such claims
-- take turns, because one that runs beside others sees their tasks as unclaimed in its snapshot, and must lock and
-- reread each to find out [16 workers: 127 pages a task instead of 6, and with claims of fewer than 200 beside each
-- other 7.0 instead of 6.6].
create or replace function taskq.await_turn()
returns void
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set lock_timeout = '1s'
as $$
begin
  -- A table, as in taskq.maintain.
  lock table taskq.claim_turn in share update exclusive mode;
exception when lock_not_available then
  null; -- Another session keeps its transaction open: continue beside it.
end
$$;
