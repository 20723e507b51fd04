-- What enqueue gives to tasks that do not say it, as an array: how long tasks of a queue may wait (in milliseconds, by
-- queue), the queue by type, the priority by type, how long tasks of a type may wait, and how long all may (a number); each
-- null where there is none. In plpgsql, which keeps its plan: in SQL each call planned it anew, a quarter of what it takes to
-- enqueue a task with a key.
create or replace function taskq.usual_settings()
returns jsonb[]
language plpgsql stable security definer
set search_path = pg_catalog, taskq, pg_temp
set plan_cache_mode = force_generic_plan
as $$
begin
  return (
    select array[
      (select jsonb_object_agg(q.name, q.expires_ms) from taskq.queues q where q.expires_ms is not null),
      jsonb_object_agg(y.name, y.queue) filter (where y.queue is not null),
      jsonb_object_agg(y.name, y.priority) filter (where y.priority is not null),
      jsonb_object_agg(y.name, y.expires_ms) filter (where y.expires_ms is not null),
      (select to_jsonb(d.expires_ms) from taskq.defaults d)
    ]
    from taskq.task_types y
  );
end
$$;
