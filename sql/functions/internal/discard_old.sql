-- Deletes up to _limit dead letters that are past their retention, except those added by hand; always returns one row,
-- with their number. If a page fails (a trigger or a foreign key of the application may refuse a row), each of them
-- is deleted separately; those that fail then stay and are listed in refused, [{id, error, code}] (null: none), and the
-- next ones get their turn.
create or replace function taskq.discard_old(_limit integer)
returns table (discarded integer, refused jsonb)
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
set lock_timeout = '1s'
as $$
declare
  ts timestamptz := clock_timestamp();
  old bigint[];
  passed bigint[] := array[]::bigint[];
begin
  discarded := 0;
  loop
    old := taskq.find_old_dead(ts, _limit - discarded, passed);
    exit when old = '{}';
    begin
      discarded := discarded + taskq.discard_batch(old);
    exception when others then
      -- Raise errors that are not the fault of a row (no space left, server shutdown).
      if taskq.is_server_fault(sqlstate) then
        raise;
      end if;
      for nth in 1 .. cardinality(old) loop
        begin
          discarded := discarded + taskq.discard_batch(old[nth : nth]);
        exception when others then
          refused := coalesce(refused, '[]') || jsonb_build_object('id', old[nth], 'error', sqlerrm, 'code', sqlstate);
        end;
      end loop;
    end;
    passed := passed || old;
    -- Limit the cost, in one call, of rows that stay because they are refused or locked by other transactions.
    exit when discarded >= _limit or cardinality(passed) - discarded >= 1000;
  end loop;
  return next;
end
$$;
