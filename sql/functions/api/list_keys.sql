-- The keys that are held for a period or for ever, by queue and key, at most _limit after that one (null: from the first).
-- options: queue, key (those alone). status is that of the task that took the key; null: nothing is known of it. until is
-- 'infinity' for ever. (A key that is held while its task lives is that task's: see taskq.find_by_key.)
create or replace function taskq.list_keys(
  _limit integer default 100, _after_queue text default null, _after_key text default null, options jsonb default '{}'
)
returns table (queue text, key text, task_id bigint, until timestamptz, status text, extra jsonb)
language plpgsql stable security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
  ts timestamptz := clock_timestamp();
begin
  perform taskq.refuse_unknown_options('list_keys', options, '{queue,key}');
  return query
  with held as materialized (
    select h.* from taskq.held_keys h
    where h.until > ts
      and (_after_queue is null or (h.queue, h.key) > (_after_queue collate "C", _after_key collate "C"))
      and (not options ? 'queue' or h.queue = options ->> 'queue')
      and (not options ? 'key' or h.key = options ->> 'key')
    order by h.queue, h.key
    limit _limit
  )
  select h.queue, h.key, h.task_id, h.until, coalesce(
      (select t.status::text from taskq.tasks t where t.id = h.task_id limit 1),
      (select f.status::text from taskq.finished_tasks f where f.id = h.task_id limit 1),
      (select 'dead' from taskq.dead_tasks d where d.id = h.task_id limit 1)
    ), null::jsonb
  from held h
  order by h.queue, h.key;
end
$$;
