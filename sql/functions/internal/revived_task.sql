-- Makes a waiting task of a dead letter, which has not started yet, with all attempts to use again and the lease_no as
-- it was: names every column of taskq.tasks, in the order of the table.
--
-- Inlined into the calling statement, at no cost, which is why it names its schema and has no `set` clause.
create or replace function taskq.revived_task(
  dead taskq.dead_tasks, _due timestamptz, _ts timestamptz, _payload jsonb, _max_attempts integer
)
returns setof taskq.tasks
language sql stable
as $$
  select
    dead.id, case when dead.group_key is null then _due else 'infinity'::timestamptz end as available_at,
    _due as not_before, dead.created_at, null::timestamptz as lease_expires_at, null::timestamptz as started_at,
    dead.lease_no,
    null::integer as lease_owner, 0 as attempts, 0 as losses, 0 as releases, null::integer as lost_ahead,
    octet_length(coalesce(_payload, dead.payload)::text) as payload_bytes,
    case when dead.group_key is null then 'pending'::taskq.task_status else 'blocked'::taskq.task_status end as status,
    dead.priority, taskq.first_gate(dead.group_key, _due, _ts) as gate,
    dead.notify_done, dead.queue, dead.type, coalesce(_payload, dead.payload) as payload, dead.created_by,
    null::timestamptz as expires_at, dead.timeout_ms, coalesce(_max_attempts, dead.max_attempts) as max_attempts,
    dead.workflow_id, dead.step, dead.unique_key, dead.group_key, dead.tags, dead.backoff, dead.retention,
    null::jsonb as again, dead.on_end, dead.traceparent, dead.source, null::timestamptz as cancel_requested_at,
    null::text as cancel_reason, dead.progress, dead.error, dead.lease_owner as settled_by
$$;
