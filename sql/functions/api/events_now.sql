-- Returns the position after all ends that are committed now: taskq.events_after reads later ends from there. Refused
-- on a standby (25006), and under isolation levels other than read committed (25000).
-- Granted to: reader, operator.
create or replace function taskq.events_now()
returns text
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
declare
  own constant xid8 := pg_current_xact_id_if_assigned();
  now_at text;
begin
  perform taskq.refuse_stale_reader('events_now');
  -- It names the newest event that there is, or that was removed last, not the next transaction: so a server that has
  -- lost that event is detected. taskq.events_after refuses positions of another server, from a backup.
  select concat_ws(
    ':', c.system_identifier, coalesce(last.xid, '0'), coalesce(last.id, 0), coalesce(last.at_us, 0),
    array_to_string(array(select o.xid from unnest(taskq.open_transactions(s)) as o (xid) where o.xid < last.xid), ',')
  )
  into now_at
  from pg_current_snapshot() as s
  cross join pg_control_system() as c
  left join lateral (
    (
      select e.xid, e.id, taskq.epoch_us(e.at) as at_us from taskq.events e
      where e.xid < pg_snapshot_xmax(s) and e.xid is distinct from own
      order by e.xid desc, e.id desc
      limit 1
    )
    union all
    select d.xid, d.id, 0 from taskq.dropped_events d where d.id > 0 and d.xid < pg_snapshot_xmax(s)
    limit 1
  ) as last on true;
  perform taskq.flush_commits();
  return now_at;
end
$$;
