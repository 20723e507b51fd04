-- Returns the settings that enqueue applies to tasks without their own, as an array: the longest wait of tasks by queue
-- (in milliseconds), the queue by type, the priority by type, the longest wait by type, and the longest wait of all
-- tasks (a number), and the queues whose tasks are grouped by type; each null if there is none. Null if there is none
-- at all, which is read faster [0.2 us for each task of a bulk]. In PL/pgSQL, which keeps its plan: in SQL each call
-- planned it again, at a quarter of the cost of enqueuing a task with a key.
create or replace function taskq.enqueue_settings()
returns jsonb[]
language plpgsql stable security definer
set search_path = pg_catalog, taskq, pg_temp
set plan_cache_mode = force_generic_plan
as $$
begin
  return (
    select nullif(array[
      (select jsonb_object_agg(q.name, q.expires_ms) from taskq.queues q where q.expires_ms is not null),
      jsonb_object_agg(y.name, y.queue) filter (where y.queue is not null),
      jsonb_object_agg(y.name, y.priority) filter (where y.priority is not null),
      jsonb_object_agg(y.name, y.expires_ms) filter (where y.expires_ms is not null),
      (select to_jsonb(d.expires_ms) from taskq.defaults d),
      (select jsonb_object_agg(q.name, q.group_by) from taskq.queues q where q.group_by = 'type')
    ], '{null,null,null,null,null,null}')
    from taskq.task_types y
  );
end
$$;
