-- Makes waiting tasks due now, whatever they wait for. Attempts, expiry, keys and lease_no stay as they are. Returns a
-- row per id: `retried`; `due` (it was due already, and keeps its place); `not_waiting`, with its status in extra
-- (null: no such task). options: by, a name recorded in taskq.audit beside the role, and filter, what the caller chose
-- the tasks by. Waits at most a second per lock for other transactions.
-- Granted to: operator.
create or replace function taskq.retry(_ids bigint[], options jsonb default '{}')
returns table (id bigint, answer text, extra jsonb)
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
set lock_timeout = '1s'
as $$
#variable_conflict use_column
declare
  ts timestamptz;
  waiting bigint[];
  retried bigint[];
  lane text;
  lanes text[];
begin
  options := taskq.checked_options('retry', options, array['by', 'filter']);
  -- Do not lock a held row: its heartbeat and its settle would have to be repeated.
  waiting := array(
    select locked.id
    from taskq.in_lock_order(_ids) as asked (id)
    cross join lateral (
      select t.id from taskq.tasks t
      where t.id = asked.id and t.lease_owner is null and (t.status = 'pending' or t.gate in ('w', 'd'))
      for no key update
    ) as locked
  );
  ts := clock_timestamp();
  -- Never into the past: the task would slip behind the cursors.
  with moved as (
    update taskq.tasks t
    set available_at = case when t.gate = 'd' then t.available_at else ts end,
      not_before = case when t.gate = 'd' then ts else t.not_before end,
      gate = case when t.gate = 'd' then 'w' else t.gate end
    -- One that waits for a slot of its group is due.
    where t.id = any (waiting) and case t.gate when 'w' then false when 'd' then true else t.available_at > ts end
    returning t.id, t.queue
  )
  select coalesce(array_agg(moved.id), '{}'), array_agg(distinct moved.queue) into retried, lanes from moved;
  perform taskq.record_action('retry', ts, options, retried);
  perform taskq.ask_for(retried, ts, false);
  foreach lane in array coalesce(lanes, '{}') loop
    perform taskq.wake(lane, ts);
  end loop;

  return query
  select asked.id,
    case when asked.id = any (retried) then 'retried' when asked.id = any (waiting) then 'due' else 'not_waiting' end,
    asked.extra
  from taskq.find_statuses(_ids, waiting) as asked;
end
$$;
