-- Returns the position after all ends that are committed now: taskq.events_after reads from there what ends later.
-- Refused on a standby (25006), and under isolation levels other than read committed (25000).
-- Granted to: reader, operator.
create or replace function taskq.events_now()
returns text
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
declare
  now_at text;
begin
  perform taskq.refuse_stale_reader('events_now');
  select concat_ws(':', c.system_identifier, pg_snapshot_xmax(s), 0, 0, array_to_string(array(
    select o.xid from unnest(taskq.open_transactions(s)) as o (xid) where o.xid < pg_snapshot_xmax(s)
  ), ','))
  into now_at
  from pg_current_snapshot() as s cross join pg_control_system() as c;
  perform taskq.flush_commits();
  return now_at;
end
$$;
