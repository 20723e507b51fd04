-- Inserts the tasks whose keys are free, assuming that nobody else inserts the same keys at this moment: looks first,
-- and raises unique_violation if a key is held after all, which may be by a task of the same call. See
-- taskq.insert_keyed.
create or replace function taskq.insert_free(
  _tasks jsonb, options jsonb, nulls bigint[], usual jsonb[], _ts timestamptz,
  out made bigint[], out ids bigint[], out keyed bigint[], out missing bigint[], out types text[], out wakes jsonb
)
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set plan_cache_mode = force_generic_plan
set jit = off
-- Plans made while the tables were empty must not scan them later: a producer keeps its session.
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
  producer constant text := session_user;
begin
  with input as materialized (
    select
      g.*, nextval('taskq.tasks_id_seq') as new_id,
      -- `limit` makes each a probe for a key, never a join with all of them. `queue || ''` keeps the planner off the
      -- claim's index, which it uses where it expects 0 rows.
      g.key is not null and coalesce(
        (select t.id from taskq.tasks t where t.queue || '' = g.queue and t.unique_key = g.key limit 1),
        (select h.task_id from taskq.held_keys h where h.queue = g.queue and h.key = g.key and h.until > _ts limit 1)
      ) is not null as is_held
    from taskq.given_tasks(_tasks, options, nulls, usual, _ts, true) as g
  ),
  inserted as (
    insert into taskq.tasks (
      id, queue, type, priority, payload, payload_bytes, available_at, not_before, created_at, created_by, expires_at,
      max_attempts, timeout_ms, unique_key, tags, retention, backoff, traceparent, notify_done, source
    )
    select
      new_id, queue, type, priority, payload, payload_bytes, due, due, _ts, producer, expires_at, max_attempts,
      timeout_ms, key, tags, retention, backoff, traceparent, notify_done, source
    from input
    where not is_held
    -- In the order of the keys: see taskq.enqueue_keyed.
    order by queue collate "C", key collate "C" nulls first
  )
  select
    array_agg(i.place) filter (where not i.is_held),
    array_agg(i.new_id) filter (where not i.is_held),
    array_agg(i.new_id) filter (where not i.is_held and i.key is not null),
    array_agg(i.place) filter (where i.is_held),
    -- Including those whose key is held.
    (select array_agg(of_type.type) from (select type from input group by type) as of_type),
    (
      select jsonb_object_agg(of_queue.queue, of_queue.due)
      from (select queue, min(due) as due from input where not is_held group by queue) as of_queue
    )
  into made, ids, keyed, missing, types, wakes
  from input i;
end
$$;
