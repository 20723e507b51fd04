-- Deletes up to _limit dead letters that are past their retention, except those added by hand; always returns one row,
-- with their number. If the page fails (a trigger or a foreign key of the application may refuse a row), each of them
-- is deleted separately; those that fail then stay and are listed in refused, [{id, error, code}] (null: none), and
-- those behind them have their turn.
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
  is_discarded boolean;
  kept bigint[] := array[]::bigint[];
begin
  discarded := 0;
  loop
    old := null;
    begin
      old := taskq.lock_old_dead(ts, _limit - discarded, kept);
      delete from taskq.dead_tasks x where x.id = any (old);
      -- Deferred triggers refuse here, not at the commit.
      set constraints all immediate;
      discarded := discarded + cardinality(old);
      return next;
      return;
    exception when others then
      -- Leave to the caller what is no fault of a row (no space left, server shutdown).
      if old is null or taskq.is_server_fault(sqlstate) then
        raise;
      end if;
    end;
    for nth in 1 .. cardinality(old) loop
      begin
        delete from taskq.dead_tasks x
        where x.id = (select l.id from taskq.dead_tasks l where l.id = old[nth] and not l.by_hand for update skip locked);
        is_discarded := found;
        set constraints all immediate;
        if is_discarded then
          discarded := discarded + 1;
        end if;
      exception when others then
        refused := coalesce(refused, '[]') || jsonb_build_object('id', old[nth], 'error', sqlerrm, 'code', sqlstate);
        kept := kept || old[nth];
      end;
    end loop;
    -- Bound the cost of refused rows in one call.
    if discarded >= _limit or jsonb_array_length(refused) >= 1000 then
      return next;
      return;
    end if;
  end loop;
end
$$;
