-- Enqueues a task into the queue `queues`, in the caller's transaction; it does not start before _scheduled_at.
--
-- Errors: 22023, the type is null or unknown (taskq.add_types makes one known), the payload is larger than 1 MB, or the
-- time is infinite or not before the year 10000.
-- Arguments: _payload, for null the task has the JSON value null; _scheduled_at, null or a time in the past counts as
-- now.
-- Granted to: producer.
create or replace function queues.enqueue(_task_type text, _payload jsonb, _scheduled_at timestamptz default now())
returns void
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
begin
  perform from taskq.enqueue(_task_type, _payload, jsonb_build_object('queue', 'queues', 'at', _scheduled_at));
end
$$;
