-- Every task there is, waiting, held, finished or dead, under one `status`. `updated_at` is derived: the latest of
-- creation, start, request to cancel, last error and end. max_attempts, timeout_ms, backoff and retention are what the
-- task says itself; `applies` is what holds for it by the settings of today, each with its value (null: no timeout;
-- 'unlimited' attempts) and `from`: task, type, queue or defaults. No rows for an id means that it never existed, was
-- purged, or outlived its retention.
create or replace view taskq.all_tasks as
select
  a.*,
  jsonb_build_object(
    'max_attempts', jsonb_build_object(
      'value', case coalesce(a.max_attempts, y.max_attempts, q.max_attempts, d.max_attempts)
        when 2147483647 then '"unlimited"'
        else to_jsonb(coalesce(a.max_attempts, y.max_attempts, q.max_attempts, d.max_attempts))
      end,
      'from', case
        when a.max_attempts is not null then 'task'
        when y.max_attempts is not null then 'type'
        when q.max_attempts is not null then 'queue'
        else 'defaults'
      end
    ),
    'timeout_ms', jsonb_build_object(
      'value', coalesce(a.timeout_ms, y.timeout_ms, q.timeout_ms, d.timeout_ms),
      'from', case
        when a.timeout_ms is not null then 'task'
        when y.timeout_ms is not null then 'type'
        when q.timeout_ms is not null then 'queue'
        else 'defaults'
      end
    ),
    'backoff', jsonb_build_object(
      'value', coalesce(a.backoff, y.backoff, q.backoff, d.backoff),
      'from', case
        when a.backoff is not null then 'task'
        when y.backoff is not null then 'type'
        when q.backoff is not null then 'queue'
        else 'defaults'
      end
    ),
    'retention', jsonb_build_object(
      'value', coalesce(a.retention, y.retention, q.retention, d.retention),
      'from', case
        when a.retention is not null then 'task'
        when y.retention is not null then 'type'
        when q.retention is not null then 'queue'
        else 'defaults'
      end
    )
  ) as applies
from (
  select
    t.id, t.queue, t.type, t.priority, t.status, t.payload, t.tags, t.attempts, t.losses, t.releases,
    t.max_attempts, t.available_at, t.not_before, t.created_at, t.started_at, null::timestamptz as finished_at,
    greatest(
      t.created_at, t.started_at, t.cancel_requested_at,
      case when t.attempts > 0 then (select max(e.failed_at) from taskq.task_errors e where e.task_id = t.id) end
    ) as updated_at,
    t.lease_no, coalesce(w.name, t.lease_owner::text) as lease_owner, t.lease_expires_at, t.expires_at,
    t.timeout_ms, t.backoff, t.retention, t.unique_key, t.group_key, t.workflow_id, t.step, t.created_by, t.source,
    t.traceparent, t.cancel_requested_at, t.cancel_reason, t.progress, t.error,
    null::jsonb as result, null::jsonb as result_note, null::text as reason, false as by_hand, null::text as ending
  from taskq.tasks t
  left join taskq.workers w on w.id = t.lease_owner
  union all
  select
    f.id, f.queue, f.type, f.priority, f.status, f.payload, f.tags, f.attempts, f.losses, f.releases,
    f.max_attempts, null, f.not_before, f.created_at, f.started_at, f.finished_at,
    f.finished_at,
    f.lease_no, coalesce(w.name, f.lease_owner::text), null, f.expires_at,
    f.timeout_ms, f.backoff, f.retention, f.unique_key, f.group_key, f.workflow_id, f.step, f.created_by, f.source,
    f.traceparent, f.cancel_requested_at, f.cancel_reason, f.progress, f.error,
    f.result, f.result_note, null, false, f.ending
  from taskq.finished_tasks f
  left join taskq.workers w on w.id = f.lease_owner
  union all
  select
    d.id, d.queue, d.type, d.priority, 'dead', d.payload, d.tags, d.attempts, d.losses, d.releases,
    d.max_attempts, null, d.not_before, d.created_at, d.started_at, d.died_at,
    d.died_at,
    d.lease_no, coalesce(w.name, d.lease_owner::text), null, null,
    d.timeout_ms, d.backoff, d.retention, d.unique_key, d.group_key, d.workflow_id, d.step, d.created_by, d.source,
    d.traceparent, null, null, d.progress, d.error,
    null, null, d.reason, d.by_hand, null
  from taskq.dead_tasks d
  left join taskq.workers w on w.id = d.lease_owner
) as a
left join taskq.task_types y on y.name = a.type
left join taskq.queues q on q.name = a.queue
left join taskq.defaults d on d.only_row;
