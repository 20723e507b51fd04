-- Ends these tasks, which no worker holds and the caller has locked, as cancelled. _each: each alone; returns those
-- that the database refuses to end, which stay as they are.
create or replace function taskq.cancel_waiting(_ids bigint[], _reason text, _ts timestamptz, _each boolean)
returns bigint[]
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
as $$
declare
  one bigint;
  refused bigint[] := array[]::bigint[];
begin
  if not _each then
    perform taskq.move_to_finished(_ids, 'cancelled', _reason, _ts);
    return refused;
  end if;
  foreach one in array _ids loop
    begin
      perform taskq.move_to_finished(array[one], 'cancelled', _reason, _ts);
      set constraints all immediate;
    exception when others then
      if taskq.is_server_fault(sqlstate) then
        raise;
      end if;
      -- No claim reports this, so log it on the server.
      raise warning 'taskq does not cancel task %, a step of a workflow: % (%)', one, sqlerrm, sqlstate;
      refused := refused || one;
    end;
  end loop;
  return refused;
end
$$;
