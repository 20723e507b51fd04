-- Cancels tasks. A waiting task ends at once; for a held one the request is stored and its worker notified, which
-- decides how it ends. Returns a row per id: `cancelled`; `requested`, with lease_expired in extra if its lease has run
-- out, so that rescue ends it; or `not_live`, with its status in extra (null: no such task). options: notify_done, to
-- send taskq_done when a held task has ended and to keep its row so that the caller finds it then; queues (only tasks
-- of these, as names in which `*` stands for any text); by, a name recorded in taskq.audit beside the role; filter,
-- what the caller chose the tasks by. Waits at most a second per lock for other transactions.
-- Granted to: operator.
create or replace function taskq.cancel(_ids bigint[], _reason text default null, options jsonb default '{}')
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
  found_ids bigint[];
  held bigint[];
  waiting bigint[];
  expired bigint[];
begin
  options := taskq.checked_options('cancel', options, '{notify_done,queues,by,filter}');
  found_ids := array(
    select locked.id
    from taskq.in_lock_order(_ids) as asked (id)
    cross join lateral (
      select t.id from taskq.tasks t
      where t.id = asked.id and (patterns is null or t.queue like any (patterns))
      for update
    ) as locked
  );
  ts := clock_timestamp();
  select array_agg(t.id) filter (where t.lease_owner is not null),
    array_agg(t.id) filter (where t.lease_owner is null),
    array_agg(t.id) filter (where t.lease_owner is not null and t.lease_expires_at < ts)
  into held, waiting, expired
  from taskq.tasks t where t.id = any (found_ids);

  if held is not null then
    update taskq.tasks t
    set cancel_requested_at = coalesce(t.cancel_requested_at, ts), cancel_reason = coalesce(_reason, t.cancel_reason),
      notify_done = t.notify_done or coalesce((options ->> 'notify_done')::boolean, false)
    where t.id = any (held);
    if taskq.may_notify() then
      perform pg_notify('taskq_cancel', t.lease_owner::text) from taskq.tasks t where t.id = any (held);
    end if;
  end if;
  perform taskq.move_to_finished(waiting, 'cancelled', _reason, ts) where waiting is not null;
  perform taskq.record_action('cancel', ts, options, found_ids, _reason => _reason);

  return query
  select asked.id,
    case when asked.id = any (held) then 'requested' when asked.id = any (waiting) then 'cancelled'
      else 'not_live' end,
    case when asked.id = any (expired) then '{"lease_expired": true}' else asked.extra end
  from taskq.find_statuses(_ids, found_ids) as asked;
end
$$;
