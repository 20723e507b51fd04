-- Returns the queue and the key of a step that may come back: a dead letter, or one that was cancelled or has expired.
-- Null: it is gone, or has no key.
create or replace function taskq.key_of_ended(_task_id bigint, out queue text, out unique_key text)
language sql stable security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
as $$
  select d.queue, d.unique_key from taskq.dead_tasks d where d.id = _task_id
  union all
  select f.queue, f.unique_key from taskq.finished_tasks f
  where f.id = _task_id and f.status in ('cancelled', 'expired')
  limit 1
$$;
