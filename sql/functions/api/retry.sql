-- Makes tasks that wait for their time or for a retry due now. Attempts, keys and lease_no stay as they are, and so
-- does the time by which a task has to start. Returns a row per id: `retried`; `due` (it was due already, or waits only
-- for a slot of its group: it keeps its place); `not_waiting` (it is held, has ended, or waits for the parents of its
-- step), with its status in extra (null: no such task). options: queues (only tasks of these, as names in which `*`
-- stands for any text); by, a name recorded in taskq.audit beside the role; reason; filter, what the caller chose the
-- tasks by. Waits at most a second per lock for other transactions.
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
  patterns constant text[] := taskq.patterns_of(options);
  ts timestamptz;
  waiting bigint[];
  retried bigint[];
  queue_name text;
  queue_names text[];
begin
  options := taskq.checked_options('retry', options, '{queues,by,reason,filter}');
  -- Do not lock a held row: its heartbeat and its settle would have to be repeated.
  waiting := array(
    select locked.id
    from taskq.in_lock_order(_ids) as asked (id)
    cross join lateral (
      select t.id from taskq.tasks t
      where t.id = asked.id and t.lease_owner is null and (t.status = 'pending' or t.gate in ('w', 'd'))
        and (patterns is null or t.queue like any (patterns))
      for no key update
    ) as locked
  );
  ts := clock_timestamp();
  -- Never into the past: the task would slip behind the cursors.
  with moved as (
    update taskq.tasks t
    set available_at = case when t.gate in ('w', 'd') then t.available_at else ts end,
      -- A task that loses its slot waits by this time again.
      not_before = case when t.gate is null then t.not_before else least(t.not_before, ts) end,
      -- As in taskq.free_slots.
      expires_at = case
        when t.gate is not null and t.started_at is not null
        then taskq.shifted(t.expires_at, t.not_before, least(t.not_before, ts))
        else t.expires_at
      end,
      gate = case when t.gate = 'd' then 'w' else t.gate end
    where t.id = any (waiting)
      and case t.gate when 'w' then t.not_before > ts when 'd' then true else t.available_at > ts end
    returning t.id, t.queue
  )
  select coalesce(array_agg(moved.id), '{}'), array_agg(distinct moved.queue) into retried, queue_names from moved;
  perform taskq.record_action('retry', ts, options, retried);
  perform taskq.ask_for(retried, ts, false);
  foreach queue_name in array coalesce(queue_names, '{}') loop
    perform taskq.wake(queue_name, ts);
  end loop;

  return query
  select asked.id,
    case when asked.id = any (retried) then 'retried' when asked.id = any (waiting) then 'due' else 'not_waiting' end,
    asked.extra
  from taskq.find_statuses(_ids, waiting) as asked;
end
$$;
