-- What a worker has to know before it claims, as one document: the queues that have a live task, and the timeouts that
-- apply to tasks without one of their own.
create or replace function taskq.survey(_types text[])
returns jsonb
language plpgsql stable security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set plan_cache_mode = force_generic_plan
as $$
begin
  return jsonb_build_object(
    'queues', to_jsonb(array(select taskq.find_queues())),
    'type_timeouts', coalesce((
      select jsonb_object_agg(name, timeout_ms) from taskq.task_types
      where name = any (_types) and timeout_ms is not null
    ), '{}'),
    'queue_timeouts', coalesce((
      select jsonb_object_agg(name, timeout_ms) from taskq.queues where timeout_ms is not null
    ), '{}'),
    'timeout_ms', (select timeout_ms from taskq.defaults)
  );
end
$$;
