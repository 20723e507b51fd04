-- Claims one task by its id if it is waiting and due, for a worker that runs nothing but this task, such as a test. It
-- ignores the limits of its queue, which still count it, but not those of its group; raises 55P03 if another
-- transaction has the queue's locked for a second. No rows: it is not waiting, not due, waits for its group, or is
-- locked by another transaction.
-- Arguments: _worker_id, as registered; _lease_ms, how long it holds the task without a heartbeat, in milliseconds.
-- Granted to: worker.
create or replace function taskq.claim_one(_worker_id integer, _id bigint, _lease_ms bigint)
returns table (
  id bigint, lease_no integer, queue text, type text, priority smallint, available_at_us bigint, attempts integer,
  losses integer, timeout_ms bigint, group_key text, payload jsonb, running boolean, extra jsonb
)
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
set lock_timeout = '1s'
as $$
#variable_conflict use_column
declare
  ts timestamptz := clock_timestamp();
  waiting record;
  limits taskq.standing_limit[];
  ask taskq.asks;
begin
  if not coalesce(_lease_ms <= 86400000, false) then
    perform taskq.refuse_option('claim_one', 'lease_ms', to_jsonb(_lease_ms));
  end if;
  if current_setting('transaction_isolation') <> 'read committed' then
    perform taskq.refuse_isolation('claim_one');
  end if;
  select t.queue, t.type, t.group_key, t.gate into waiting from taskq.tasks t
  where t.id = _id and (t.gate = 'w' or (t.gate = 'd' and t.not_before <= ts));
  if found then
    -- Attend to its group alone, whose own asks may be behind any number of others.
    insert into taskq.asks (due_at, queue, key, task_id)
    values (ts, waiting.queue, waiting.group_key, case when waiting.gate = 'd' then _id end)
    returning * into ask;
    perform taskq.attend_asks(
      taskq.take_groups(array[ask]), array[ask.queue], array[waiting.type], null, 1000, ts, false
    );
    ts := clock_timestamp();
  end if;
  perform from taskq.limit_states s
  where s.queue = (select t.queue from taskq.tasks t where t.id = _id)
  for no key update;
  if found then
    limits := array(
      select l from taskq.standing_limits(array(select t.queue from taskq.tasks t where t.id = _id)) as l
    );
  end if;
  if cardinality(limits) > 0 then
    ts := clock_timestamp();
    perform from taskq.spend_limits(limits, array(
      select t.ctid from taskq.tasks t
      where t.id = _id and t.status = 'pending' and t.lease_owner is null and (t.available_at <= ts) is true
        and taskq.may_start(t.expires_at, t.started_at, ts)
        and (t.gate is null or taskq.find_out_of_turn(array[t.ctid], null, ts) is null)
      for no key update skip locked
    ), null, null, null, 1, ts);
  end if;
  return query
  update taskq.tasks t
  set status = 'running', lease_owner = _worker_id, started_at = ts,
    lease_expires_at = ts + make_interval(secs => _lease_ms / 1000.0),
    lease_no = taskq.next_lease_no(t.lease_no, taskq.lease_step(ts)),
    payload_bytes = case when not taskq.is_outgrown(t.payload_bytes, t.payload) then t.payload_bytes end
  where t.id = (
    select l.id from taskq.tasks l
    -- `is true` keeps the planner from the claim's index, which seems as good where it believes in a row or two.
    where l.id = _id and l.status = 'pending' and l.lease_owner is null and (l.available_at <= ts) is true
      and taskq.may_start(l.expires_at, l.started_at, ts)
      and (l.gate is null or taskq.find_out_of_turn(array[l.ctid], null, ts) is null)
    limit 1
    for no key update skip locked
  )
  returning t.id, t.lease_no, t.queue, t.type, t.priority, taskq.epoch_us(t.available_at),
    t.attempts, t.losses, coalesce(
      t.timeout_ms,
      (select y.timeout_ms from taskq.task_types y where y.name = t.type),
      (select q.timeout_ms from taskq.queues q where q.name = t.queue),
      (select d.timeout_ms from taskq.defaults d)
    ), t.group_key, t.payload, true,
    case when coalesce(t.traceparent, t.source) is not null or t.workflow_id is not null or t.losses > 0
      then taskq.claim_extra(
        t.traceparent, t.source, t.workflow_id, t.step, t.losses > 0 and taskq.has_last_chance(t.queue, t.losses)
      ) end;
end
$$;
