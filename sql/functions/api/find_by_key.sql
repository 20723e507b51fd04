-- Returns the id of the task that holds a key of a queue: a live one, or one that has ended and holds it for a
-- period. Null: the key is free. `queue || ''` keeps the planner off the claim's index.
-- Arguments: _queue; _key, as it was given to the task that took it.
-- Granted to: reader, operator.
create or replace function taskq.find_by_key(_queue text, _key text)
returns bigint
language sql stable security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
as $$
  select coalesce(
    (select t.id from taskq.tasks t where t.queue || '' = _queue and t.unique_key = _key limit 1),
    (
      select h.task_id from taskq.held_keys h
      where h.queue = _queue and h.key = _key and h.until > clock_timestamp() limit 1
    )
  )
$$;
