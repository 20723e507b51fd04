-- Ends up to _limit tasks that expired before they started; always returns one row, with their number. If a page fails
-- (a trigger of the application on the history may refuse a row), each of its tasks is ended separately; those that
-- fail then stay as they are and are listed in refused, [{id, error, code}] (null: none), and the next ones get their
-- turn.
create or replace function taskq.expire(_limit integer)
returns table (ended integer, refused jsonb)
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
set lock_timeout = '1s'
as $$
declare
  ts timestamptz := clock_timestamp();
  late bigint[];
  late_at timestamptz[];
  after_at timestamptz := timestamptz '-infinity';
  after_id bigint := -9223372036854775808;
begin
  ended := 0;
  loop
    select array_agg(o.id), array_agg(o.expires_at) into late, late_at
    from (
      select t.id, t.expires_at
      from taskq.tasks t
      where t.expires_at <= ts and (t.expires_at, t.id) > (after_at, after_id) and t.lease_owner is null
        and t.started_at is null
      order by t.expires_at, t.id
      limit _limit - ended
    ) as o;
    exit when late is null;
    begin
      ended := ended + taskq.expire_batch(late, ts);
    exception when others then
      -- Raise errors that are not the fault of a task (no space left, server shutdown).
      if taskq.is_server_fault(sqlstate) then
        raise;
      end if;
      for nth in 1 .. cardinality(late) loop
        begin
          ended := ended + taskq.expire_batch(late[nth : nth], ts);
        exception when others then
          refused := coalesce(refused, '[]') || jsonb_build_object('id', late[nth], 'error', sqlerrm, 'code', sqlstate);
        end;
      end loop;
    end;
    -- Limit the cost of refused rows in one call.
    exit when ended >= _limit or jsonb_array_length(refused) >= 1000;
    after_at := late_at[cardinality(late)];
    after_id := late[cardinality(late)];
  end loop;
  return next;
end
$$;
