-- What a worker has to know before it claims, as one document: the queues that have a live task (found by skipping
-- through the claim index, one probe per queue), and the timeouts that apply to tasks without one of their own.
create or replace function taskq.survey(_types text[])
returns jsonb
language sql stable security definer
set search_path = pg_catalog, taskq, pg_temp
set enable_seqscan = off
as $$
  with recursive found as (
    (select queue from taskq.tasks order by queue limit 1)
    union all
    select (select t.queue from taskq.tasks t where t.queue > found.queue order by t.queue limit 1)
    from found where found.queue is not null
  )
  select jsonb_build_object(
    'queues', coalesce((select jsonb_agg(queue order by queue) from found where queue is not null), '[]'),
    'type_timeouts', coalesce((
      select jsonb_object_agg(name, timeout_ms) from taskq.task_types
      where name = any (_types) and timeout_ms is not null
    ), '{}'),
    'queue_timeouts', coalesce((
      select jsonb_object_agg(name, timeout_ms) from taskq.queues where timeout_ms is not null
    ), '{}'),
    'timeout_ms', (select timeout_ms from taskq.defaults)
  )
$$;
