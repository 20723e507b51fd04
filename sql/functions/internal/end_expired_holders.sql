-- Ends those of these tasks, each the holder of a key, that expired before they started: they would keep out tasks that
-- can run. Housekeeping comes for them too, but later. Those that it cannot end now stay: others have them locked, or a
-- trigger of the application refuses them.
create or replace function taskq.end_expired_holders(_ids bigint[], _ts timestamptz)
returns void
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
begin
  perform taskq.end_expired(_ids, _ts);
exception when others then
  if taskq.is_server_fault(sqlstate) then
    raise;
  end if;
end
$$;
