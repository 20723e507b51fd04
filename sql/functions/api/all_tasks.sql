-- Shows every task, whether waiting, held, finished or dead, with one `status`. `updated_at` is derived: the latest of
-- creation, start, cancel request, last error and end. max_attempts, timeout_ms, backoff and retention are the task's
-- own options; `applies` shows the values in effect under the current settings or, once the task has ended, under those
-- at its end, each with its value (null: no timeout; 'unlimited' attempts) and `from`: task, type, queue or defaults.
-- waits_for: `parents` of its step, or `slot` of its group; available_at is then null, because no time decides.
-- `applies` is one expression, so a query that does not select it pays nothing for it. `again` has the id, the time and
-- the payload of the task that will replace a held one, and run after it. times_out_at is when the attempt of a
-- running task exceeds its timeout, or has (null: it does not run, or has no timeout). No row for an id: it never
-- existed, was purged, or outlived its retention.
create or replace view taskq.all_tasks as
select
  a.*,
  (
    select jsonb_build_object(
      'max_attempts', taskq.applying('max_attempts', h.task, h.type, h.queue, h.defaults),
      'timeout_ms', taskq.applying('timeout_ms', h.task, h.type, h.queue, h.defaults),
      'backoff', taskq.applying('backoff', h.task, h.type, h.queue, h.defaults),
      'retention', taskq.applying('retention', h.task, h.type, h.queue, h.defaults)
    )
    from (
      select
        taskq.settings_of(a.max_attempts, a.timeout_ms, a.backoff, a.retention) as task,
        coalesce(
          past.settings -> 'type', taskq.settings_of(y.max_attempts, y.timeout_ms, y.backoff, y.retention)
        ) as type,
        coalesce(
          past.settings -> 'queue', taskq.settings_of(q.max_attempts, q.timeout_ms, q.backoff, q.retention)
        ) as queue,
        coalesce(
          past.settings -> 'defaults', taskq.settings_of(d.max_attempts, d.timeout_ms, d.backoff, d.retention)
        ) as defaults
      from (
        -- For an ended task, the settings of each level that have changed since its end.
        select jsonb_object_agg(of.level, p.settings) as settings
        from (values ('type', a.type), ('queue', a.queue), ('defaults', '')) as of (level, name)
        cross join lateral (
          select p.settings from taskq.past_settings p
          where p.level = of.level and p.name = of.name and p.until >= a.finished_at
          order by p.until limit 1
        ) as p
      ) as past
      -- `offset 0`: compute each of these once.
      offset 0
    ) as h
  ) as applies,
  case when a.status = 'running' then (
    select a.started_at + make_interval(secs => one.timeout_ms / 1000.0)
    from (select coalesce(a.timeout_ms, y.timeout_ms, q.timeout_ms, d.timeout_ms) as timeout_ms) as one
    -- A row inserted by hand may have any value, and one that cannot be added must not make the others unreadable.
    where one.timeout_ms between 0 and 3155760000000
      and a.started_at between timestamptz '0001-01-01 00:00Z' and timestamptz '9999-12-31 00:00Z'
  ) end as times_out_at
from (
  select
    t.id, t.queue, t.type, t.priority, t.status, t.payload, t.tags, t.attempts, t.losses, t.releases,
    t.max_attempts, nullif(case t.gate when 'd' then t.not_before else t.available_at end, 'infinity') as available_at,
    t.not_before, t.created_at, t.started_at, null::timestamptz as finished_at,
    greatest(
      t.created_at, t.started_at, t.cancel_requested_at,
      case when t.attempts > 0 then (select max(e.failed_at) from taskq.task_errors e where e.task_id = t.id) end
    ) as updated_at,
    t.lease_no, coalesce(w.name, t.lease_owner::text) as lease_owner, t.lease_expires_at, t.expires_at,
    t.timeout_ms, t.backoff, t.retention, t.unique_key, t.group_key, t.workflow_id, t.step, t.created_by, t.source,
    t.traceparent, t.cancel_requested_at, t.cancel_reason, t.progress, t.error,
    null::jsonb as result, null::jsonb as result_note, null::text as reason, false as by_hand, null::text as ending,
    case when t.again is not null
      then jsonb_build_object('id', t.again ->> 'id', 'at', t.again -> 'not_before', 'payload', t.again -> 'payload')
    end as again,
    case t.gate when 'p' then 'parents' when 'w' then 'slot' end as waits_for
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
    f.result, f.result_note, null, false, f.ending, null, null
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
    null, null, d.reason, d.by_hand, null, null, null
  from taskq.dead_tasks d
  left join taskq.workers w on w.id = d.lease_owner
) as a
left join taskq.task_types y on y.name = a.type
left join taskq.queues q on q.name = a.queue
left join taskq.defaults d on d.only_row;
