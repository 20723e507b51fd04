-- Makes the row of a new task: names every column of taskq.tasks, in the order of the table.
--
-- The tasks of a bulk are available a microsecond after each other, in their order. If all had the same time, a claim
-- that has taken some of them could give the next task of a group no place before the rest (see taskq.fill_groups).
--
-- Inlined into the calling statement, at no cost, which is why it names its schema and has no `set` clause.
create or replace function taskq.new_task(given taskq.given_task, _ts timestamptz, _producer text)
returns setof taskq.tasks
language sql stable
as $$
  select
    given.id,
    case
      when given.group_key is null and given.step -> 'waits' is null
      then given.due + coalesce(given.place - 1, 0) * interval '1 microsecond'
      else 'infinity'::timestamptz
    end as available_at,
    given.due as not_before, _ts as created_at,
    null::timestamptz as lease_expires_at, null::timestamptz as started_at, 0 as lease_no,
    null::integer as lease_owner, 0 as attempts, 0 as losses, 0 as releases, null::integer as lost_ahead,
    given.payload_bytes,
    case
      when given.group_key is null and given.step -> 'waits' is null then 'pending'::taskq.task_status
      else 'blocked'::taskq.task_status
    end as status,
    given.priority,
    case
      when given.step -> 'waits' is null then taskq.first_gate(given.group_key, given.due, _ts) else 'p'::"char"
    end as gate,
    given.notify_done, given.queue, given.type, given.payload, _producer as created_by, given.expires_at,
    given.timeout_ms, given.max_attempts, (given.step ->> 'workflow')::bigint as workflow_id,
    case when given.step is not null then coalesce(given.step ->> 'step', given.id::text) end as step,
    given.key as unique_key, given.group_key, given.tags, given.backoff, given.retention, null::jsonb as again,
    given.on_end, given.traceparent, given.source, null::timestamptz as cancel_requested_at,
    null::text as cancel_reason, null::jsonb as progress,
    null::jsonb as error, null::integer as settled_by
$$;
